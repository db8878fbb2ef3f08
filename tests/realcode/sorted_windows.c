// device: median bubble selection localhist
#include <stdio.h>
typedef unsigned char u8;
void median(u8 *dst, const u8 *src, int w, int h)
{
    for (int y = 1; y < h - 1; ++y)
        for (int x = 1; x < w - 1; ++x) {
            u8 v[9];
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++)
                    v[(dy + 1) * 3 + dx + 1] = src[(y + dy) * w + (x + dx)];
            for (int i = 1; i < 9; i++) {
                u8 key = v[i];
                int j = i - 1;
                while (j >= 0 && v[j] > key) { v[j + 1] = v[j]; j--; }
                v[j + 1] = key;
            }
            dst[y * w + x] = v[4];
        }
}
void bubble(float *dst, const float *src, int n)
{
    for (int x = 2; x < n - 2; ++x) {
        float v[5];
        for (int k = 0; k < 5; k++) v[k] = src[x + k - 2];
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4 - i; j++)
                if (v[j] > v[j + 1]) { float t = v[j]; v[j] = v[j + 1]; v[j + 1] = t; }
        dst[x] = v[2];
    }
}
void selection(float *dst, const float *src, int n)
{
    for (int x = 2; x < n - 2; ++x) {
        float v[5];
        for (int k = 0; k < 5; k++) v[k] = src[x + k - 2];
        for (int i = 0; i < 3; i++) {
            int m = i;
            for (int j = i + 1; j < 5; j++) if (v[j] < v[m]) m = j;
            float t = v[i]; v[i] = v[m]; v[m] = t;
        }
        dst[x] = v[2];
    }
}
void localhist(int *out, const u8 *a, int rows, int m)
{
    for (int r = 0; r < rows; r++) {
        int h[16] = {0};
        for (int i = 0; i < m; i++) h[a[r * m + i] & 15]++;
        int best = 0;
        for (int k = 1; k < 16; k++) if (h[k] > h[best]) best = k;
        out[r] = best;
    }
}
int main(void)
{
    static u8 a[900], b[900]; static float f[900], g[900], h[900]; static int q[30];
    for (int i = 0; i < 900; i++) { a[i] = (i * 37) % 251; f[i] = (i * 53) % 97; }
    median(b, a, 30, 30); bubble(g, f, 900); selection(h, f, 900); localhist(q, a, 30, 30);
    for (int i = 0; i < 900; i += 13) printf("%d %g %g %d\n", b[i], g[i], h[i], q[i / 30]);
    return 0;
}
