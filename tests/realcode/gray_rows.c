// device: to_gray
#include <stdio.h>
#include <stdlib.h>
typedef struct {
    int width, height;
    unsigned char **rows;   /* RGBRGB... as libpng has them */
} image;
void to_gray(image *img, unsigned char **out)
{
    for (int y = 0; y < img->height; y++) {
        unsigned char *row = img->rows[y];
        for (int x = 0; x < img->width; x++) {
            unsigned char *px = &(row[x * 3]);
            out[y][x] = (unsigned char)((px[0] * 77 + px[1] * 150 + px[2] * 29) >> 8);
        }
    }
}
int main(void)
{
    image img = {17, 9, NULL};
    unsigned char *out[9];
    img.rows = malloc(sizeof(unsigned char *) * img.height);
    for (int y = 0; y < img.height; y++) {
        img.rows[y] = malloc(img.width * 3);
        out[y] = malloc(img.width);
        for (int x = 0; x < img.width * 3; x++)
            img.rows[y][x] = (x * y * 5 + x) & 255;
    }
    to_gray(&img, out);
    int s = 0;
    for (int y = 0; y < 9; y++)
        for (int x = 0; x < 17; x++)
            s = (s * 3 + out[y][x]) % 10007;
    printf("%d\n", s);
    return 0;
}
