// device: spmv recolour
#include <stdio.h>
#include <stdlib.h>
#define LEVELS 64
/* compressed rows; the arrays are main's, which passes how long they are */
void spmv(int rows, int entries, const int *start, const int *column, const double *value, const double *x, double *y)
{
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int k = start[r]; k < start[r + 1]; k++)
            sum += value[k] * x[column[k]];
        y[r] = sum + entries % 2;
    }
}
void recolour(const unsigned char *from, float *to, int pixels, const float *palette)
{
    for (int i = 0; i < pixels; i++)
        to[i] = palette[from[i] % LEVELS];
}
int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 90, most = 3 * n, k = 0;
    int *start = malloc((n + 1) * sizeof *start), *column = malloc(sizeof(int) * most);
    double *value = malloc(most * sizeof *value), *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
    unsigned char *picture = malloc(n);
    float *shown = malloc(n * sizeof *shown), *palette = malloc(LEVELS * sizeof *palette);
    for (int i = 0; i < n; i++) {
        start[i] = k;
        for (int j = i - 1; j <= i + 1; j++)
            if (j >= 0 && j < n) { column[k] = j; value[k] = i == j ? 2 : -0.5; k++; }
    }
    start[n] = k;
    for (int i = 0; i < n; i++) { x[i] = i % 7; picture[i] = i * 37; }
    for (int i = 0; i < LEVELS; i++) palette[i] = i * 0.25f;
    spmv(n, most, start, column, value, x, y);
    recolour(picture, shown, n, palette);
    for (int i = 0; i < n; i++) printf("%g %g\n", y[i], shown[i]);
    return 0;
}
