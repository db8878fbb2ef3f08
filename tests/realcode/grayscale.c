// device: gray
#include <stdio.h>
#include <stdlib.h>
typedef unsigned char byte;
typedef struct { byte r, g, b; } Pixel;
void gray(const Pixel *in, byte *out, int w, int h)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            Pixel p = in[y * w + x];
            out[y * w + x] = (byte)(0.299f * p.r + 0.587f * p.g + 0.114f * p.b);
        }
}
int main(void)
{
    int w = 40, h = 25;
    Pixel *in = malloc(w * h * sizeof(Pixel));
    byte *out = malloc(w * h);
    for (int i = 0; i < w * h; i++) { in[i].r = i; in[i].g = i * 3; in[i].b = 255 - i; }
    gray(in, out, w, h);
    unsigned sum = 0;
    for (int i = 0; i < w * h; i++) sum = sum * 33 + out[i];
    printf("%u\n", sum);
    return 0;
}
