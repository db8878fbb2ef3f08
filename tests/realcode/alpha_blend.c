// device: blend
#include <stdio.h>
#include <stdint.h>
void blend(uint8_t *dst, const uint8_t *src, const uint8_t *alpha, int width, int height, int stride)
{
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            int a = alpha[y * width + x];
            for (int c = 0; c < 3; c++) {
                int i = y * stride + 3 * x + c;
                dst[i] = (uint8_t)((src[i] * a + dst[i] * (255 - a) + 127) / 255);
            }
        }
    }
}
int main(void)
{
    static uint8_t d[20 * 64], s[20 * 64], a[20 * 21];
    for (int i = 0; i < 20 * 64; i++) { d[i] = i; s[i] = 3 * i; }
    for (int i = 0; i < 20 * 21; i++) a[i] = 5 * i;
    blend(d, s, a, 21, 20, 64);
    unsigned h = 0;
    for (int i = 0; i < 20 * 64; i++) h = h * 31 + d[i];
    printf("%u\n", h);
    return 0;
}
