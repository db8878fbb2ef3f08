// device: convert
#include <stdio.h>
static inline int clip(int v) { if (v < 0) return 0; if (v > 255) return 255; return v; }
void convert(int n, const unsigned char *y, const signed char *u, const signed char *v, unsigned char *rgb)
{
    for (int i = 0; i < n; i++) {
        int c = 298 * (y[i] - 16);
        rgb[3 * i + 0] = clip((c + 409 * v[i] + 128) >> 8);
        rgb[3 * i + 1] = clip((c - 100 * u[i] - 208 * v[i] + 128) >> 8);
        rgb[3 * i + 2] = clip((c + 516 * u[i] + 128) >> 8);
    }
}
int main(void)
{
    unsigned char y[300], rgb[900];
    signed char u[300], v[300];
    for (int i = 0; i < 300; i++) { y[i] = i; u[i] = i - 128; v[i] = 100 - i; }
    convert(300, y, u, v, rgb);
    unsigned h = 0;
    for (int i = 0; i < 900; i++) h = h * 13 + rgb[i];
    printf("%u\n", h);
    return 0;
}
