// device: histogram
#include <stdio.h>
#define BINS 16
void histogram(int rows, int cols, const unsigned char *img, int (*hist)[BINS])
{
    for (int y = 0; y < rows; y++) {
        for (int b = 0; b < BINS; b++) {
            int c = 0;
            for (int x = 0; x < cols; x++)
                if ((img[y * cols + x] >> 4) == b)
                    c++;
            hist[y][b] = c;
        }
    }
}
int main(void)
{
    static unsigned char img[20 * 31];
    int h[20][BINS];
    for (int i = 0; i < 20 * 31; i++) img[i] = (unsigned char)(i * i + 3 * i);
    histogram(20, 31, img, h);
    printf("%d %d %d\n", h[0][0], h[7][9], h[19][15]);
    return 0;
}
