// device: copy two nested rgb conv acc hist addto rev interleave downsample
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* pointers walked over several loops */
void copy(char *p, const char *q, int n) { while (n--) *p++ = *q++; }
void two(float *p, const float *q, int n, int m)
{
    for (int i = 0; i < n; i++) *p++ = *q++ * 2;
    for (int i = 0; i < m; i++) *p++ = *q++ + 1;
}
void nested(float *d, const float *s, int h, int w, int stride)
{
    for (int y = 0; y < h; y++) {
        const float *row = s;
        for (int x = 0; x < w; x++)
            *d++ = *row++ * 0.5f;
        s += stride;
    }
}
void rgb(unsigned char *out, const unsigned char *in, int h, int w)
{
    const unsigned char *end = in + 3 * h * w;
    while (in < end) {
        int r = *in++, g = *in++, b = *in++;
        *out++ = (r * 77 + g * 151 + b * 28) >> 8;
    }
}
void conv(float *out, const float *in, const float *k, int h, int w, int n)
{
    for (int y = 0; y < h - n + 1; y++)
        for (int x = 0; x < w - n + 1; x++) {
            const float *kp = k;
            float s = 0;
            for (int j = 0; j < n; j++) {
                const float *ip = in + (y + j) * w + x;
                for (int i = 0; i < n; i++)
                    s += *ip++ * *kp++;
            }
            out[y * w + x] = s;
        }
}
void acc(float *w, const float *x, int n, int m, float *o)
{
    for (int i = 0; i < n; i++) {
        const float *p = x;
        for (int j = 0; j < m; j++)
            o[i] += *w++ * *p++;
    }
}
void hist(int *h, const unsigned char *p, const unsigned char *end) { while (p != end) h[*p++]++; }
void addto(float *w, const float *x, int n) { while (n-- > 0) *w++ += *x++; }
void rev(int *a, int n) { int *l = a, *r = a + n - 1; while (l < r) { int t = *l; *l++ = *r; *r-- = t; } }
size_t len(const char *s) { const char *p = s; while (*p) p++; return p - s; }
void interleave(short *o, const short *l, const short *r, int n)
{
    for (; n > 0; n--) { *o++ = *l++; *o++ = *r++; }
}
void downsample(float *dst, float *src, int h, int w)
{
    for (int y = 0; y < h / 2; y++, src += 2 * w)
        for (int x = 0; x < w / 2; x++)
            *dst++ = (src[2 * x] + src[2 * x + 1] + src[w + 2 * x] + src[w + 2 * x + 1]) / 4;
}
int main(void)
{
    static float a[4000], b[4000], c[4000];
    static unsigned char u[3000], v[3000];
    static int h[256], z[100];
    static short s1[100], s2[100], s3[200];
    for (int i = 0; i < 4000; i++) { a[i] = i % 37; b[i] = i % 11; }
    for (int i = 0; i < 3000; i++) u[i] = i * 7;
    for (int i = 0; i < 100; i++) { z[i] = i; s1[i] = i; s2[i] = -i; }
    copy((char *) v, (char *) u, 3000);
    two(c, a, 100, 200);
    nested(c + 300, a, 20, 30, 32);
    rgb(v, u, 10, 20);
    conv(c + 1000, a, b, 20, 30, 5);
    acc(a, b, 20, 30, c);
    hist(h, u, u + 3000);
    addto(c, a, 500);
    rev(z, 99);
    interleave(s3, s1, s2, 100);
    downsample(b, a, 20, 30);
    double t = 0, t2 = 0; int k = 0;
    for (int i = 0; i < 4000; i++) { t += c[i] * (i % 5); t2 += b[i] * (i % 3); }
    for (int i = 0; i < 256; i++) k = k * 31 + h[i];
    for (int i = 0; i < 100; i++) k = k * 31 + z[i] + s3[2 * i];
    for (int i = 0; i < 3000; i++) k = k * 31 + v[i];
    printf("%.10g %.10g %d %d\n", t, t2, k, (int) len("hello"));
    return 0;
}
