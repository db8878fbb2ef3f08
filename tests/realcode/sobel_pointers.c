// device: sobel
#include <stdio.h>
#include <stdlib.h>
void sobel(const unsigned char *src, unsigned char *dst, int w, int h)
{
    for (int y = 1; y < h - 1; y++) {
        const unsigned char *above = src + (y - 1) * w;
        const unsigned char *here = above + w;
        const unsigned char *below = here + w;
        unsigned char *out = dst + y * w;
        for (int x = 1; x < w - 1; x++) {
            int gx = above[x + 1] + 2 * here[x + 1] + below[x + 1] - above[x - 1] - 2 * here[x - 1] - below[x - 1];
            int gy = below[x - 1] + 2 * below[x] + below[x + 1] - above[x - 1] - 2 * above[x] - above[x + 1];
            int m = abs(gx) + abs(gy);
            out[x] = m > 255 ? 255 : m;
        }
    }
}
int main(void)
{
    static unsigned char a[30 * 22], b[30 * 22];
    unsigned h = 7;
    for (int i = 0; i < 30 * 22; i++) a[i] = (i * i / 3 + i) & 255;
    sobel(a, b, 30, 22);
    for (int i = 0; i < 30 * 22; i++) h = h * 33 + b[i];
    printf("%u\n", h);
    return 0;
}
