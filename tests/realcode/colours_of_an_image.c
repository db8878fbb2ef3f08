// device: brighten blur greys
#include <stdio.h>
#include <stdlib.h>

static void brighten(int height, int width, unsigned char out[restrict height][width][3],
                     const unsigned char in[restrict height][width][3], float by)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < 3; c++) {
                float v = in[y][x][c] * by;
                out[y][x][c] = v > 255 ? 255 : (unsigned char)v;
            }
}

static void blur(int height, int width, unsigned char out[restrict height][width][3],
                 const unsigned char in[restrict height][width][3])
{
    for (int y = 1; y < height - 1; y++)
        for (int x = 1; x < width - 1; x++)
            for (int c = 0; c < 3; c++) {
                int sum = 0;
                for (int i = -1; i <= 1; i++)
                    for (int j = -1; j <= 1; j++)
                        sum += in[y + i][x + j][c];
                out[y][x][c] = (unsigned char)(sum / 9);
            }
}

static void greys(int height, int width, unsigned char out[restrict height][width],
                  const unsigned char in[restrict height][width][3])
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            out[y][x] = (unsigned char)((77 * in[y][x][0] + 150 * in[y][x][1] + 29 * in[y][x][2]) >> 8);
}

int main(void)
{
    enum { height = 21, width = 37 };
    unsigned char *a = malloc(3 * height * width), *b = malloc(3 * height * width), *grey = malloc(height * width);
    for (int t = 0; t < 3 * height * width; t++)
        a[t] = b[t] = (unsigned char)(t * 37 % 251);
    brighten(height, width, (void *)b, (void *)a, 1.25f);
    blur(height, width, (void *)a, (void *)b);
    greys(height, width, (void *)grey, (void *)a);
    for (int t = 0; t < height * width; t++)
        printf("%d %d\n", grey[t], a[3 * t + 1]);
    return 0;
}
