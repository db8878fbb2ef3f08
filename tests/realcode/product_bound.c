// device: clip
#include <stdio.h>
typedef struct { int w, h, c; float *data; } image;
void clip(image im)
{
    for (int i = 0; i < im.w * im.h * im.c; ++i) {
        if (im.data[i] < 0) im.data[i] = 0;
        if (im.data[i] > 1) im.data[i] = 1;
    }
}
int main(void)
{
    static float d[12 * 9 * 3];
    image im = {12, 9, 3, d};
    for (int i = 0; i < 324; i++) d[i] = i * 0.01f - 1;
    clip(im);
    float s = 0;
    for (int i = 0; i < 324; i++) s += d[i];
    printf("%g\n", s);
    return 0;
}
