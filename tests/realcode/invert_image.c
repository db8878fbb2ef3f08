// device: invert
#include <stdio.h>
#include <stdlib.h>
typedef struct { int width, height; unsigned char *data; } Image;
void invert(Image *img)
{
    for (int i = 0; i < img->width * img->height; i++)
        img->data[i] = 255 - img->data[i];
}
int main(void)
{
    Image img = {37, 21, NULL};
    img.data = malloc(37 * 21);
    for (int i = 0; i < 37 * 21; i++) img.data[i] = i * 7;
    invert(&img);
    unsigned s = 0;
    for (int i = 0; i < 37 * 21; i++) s = s * 31 + img.data[i];
    printf("%u\n", s);
    free(img.data);
    return 0;
}
