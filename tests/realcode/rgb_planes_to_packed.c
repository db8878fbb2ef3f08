// device: interleave
#include <stdio.h>
#include <stdint.h>
void interleave(const uint8_t *const planes[3], const int stride[3], uint8_t *out, int w, int h)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            out[3 * (y * w + x) + 0] = planes[0][y * stride[0] + x];
            out[3 * (y * w + x) + 1] = planes[1][y * stride[1] + x];
            out[3 * (y * w + x) + 2] = planes[2][y * stride[2] + x];
        }
}
int main(void)
{
    static uint8_t r[10 * 20], g[10 * 20], b[10 * 24], o[10 * 18 * 3];
    const uint8_t *p[3] = {r, g, b};
    int stride[3] = {20, 20, 24};
    unsigned s = 0;
    for (int i = 0; i < 200; i++) { r[i] = i; g[i] = 3 * i; }
    for (int i = 0; i < 240; i++) b[i] = 7 * i;
    interleave(p, stride, o, 18, 10);
    for (int i = 0; i < 540; i++) s = s * 17 + o[i];
    printf("%u\n", s);
    return 0;
}
