// device: unit_rows imdilate
// flags: --reassociate
#include <stdio.h>
#include <stdlib.h>
/* rows of length 1, or of zeros where there is nothing; rows that are switched off stay */
static void unit_rows(double *a, int rows, int cols, const unsigned char *off, double tiny)
{
    int r, c;
    for (r = 0; r < rows; r++) {
        double norm = 0.0;
        if (off[r])
            continue;
        for (c = 0; c < cols; c++)
            norm += a[r * cols + c] * a[r * cols + c];
        if (norm > tiny) {
            double scale = 1.0 / norm;
            for (c = 0; c < cols; c++)
                a[r * cols + c] *= scale;
        } else {
            for (c = 0; c < cols; c++)
                a[r * cols + c] = 0.0;
        }
    }
}
static void stamp(int *to, int x, int y, int width, int height, int radius)
{
    for (int v = y - radius; v <= y + radius; v++)
        for (int u = x - radius; u <= x + radius; u++)
            if (u >= 0 && u < width && v >= 0 && v < height)
                to[v * width + u] = 1;
}
static void imdilate(const int *from, int *to, int width, int height)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            if (from[y * width + x] == 1)
                stamp(to, x, y, width, height, 2);
}
int main(void)
{
    int rows = 23, cols = 17, width = 31, height = 19;
    double *a = malloc(rows * cols * sizeof *a);
    unsigned char *off = malloc(rows);
    int *image = calloc(width * height, sizeof(int)), *grown = calloc(width * height, sizeof(int));
    for (int i = 0; i < rows; i++) off[i] = i % 4 == 1;
    for (int i = 0; i < rows * cols; i++) a[i] = i / cols % 5 == 2 ? 1e-9 : i % 11 * 0.5;
    for (int i = 0; i < width * height; i += 97) image[i] = 1;
    unit_rows(a, rows, cols, off, 1e-6);
    imdilate(image, grown, width, height);
    for (int i = 0; i < rows * cols; i += 5) printf("%.9g\n", a[i]);
    for (int i = 0; i < width * height; i++) printf("%d%s", grown[i], i % width == width - 1 ? "\n" : "");
    return 0;
}
