// device: outer tiles
#include <stdio.h>
#include <stdlib.h>

static void outer(int n, int m, float *a, const float *row, const float *col)
{
    int t;
    for (t = 0; t < n * m; t++) {
        int i = t / m;
        int j = t % m;
        a[i * m + j] = row[j] * col[i];
    }
}

/* as lud of Rodinia has it: a square of tiles whose number is computed before */
static void tiles(int size, int offset, float *a)
{
    int across = size / 8 - 1, all = across * across, tile;
    for (tile = 0; tile < all; tile++) {
        float top[8], left[8];
        int i0 = 8 * (1 + tile / across), j0 = 8 * (1 + tile % across);
        for (int k = 0; k < 8; k++) {
            top[k] = a[size * offset + j0 + k];
            left[k] = a[size * (i0 + k) + offset];
        }
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 8; j++)
                a[size * (i0 + i) + j0 + j] -= left[i] * top[j];
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 40, m = 24;
    float *a = malloc(sizeof(float) * n * m), *row = malloc(sizeof(float) * m), *col = malloc(sizeof(float) * n);
    float *b = malloc(sizeof(float) * 32 * 32);
    for (int i = 0; i < m; i++) row[i] = i % 7;
    for (int i = 0; i < n; i++) col[i] = i % 5 - 1;
    for (int i = 0; i < 32 * 32; i++) b[i] = i % 11;
    outer(n, m, a, row, col);
    tiles(32, 3, b);
    tiles(32, 0, b);
    double s = 0;
    for (int i = 0; i < n * m; i++) printf("%g\n", a[i]);
    for (int i = 0; i < 32 * 32; i++) s += i * b[i];
    printf("%g\n", s);
    return 0;
}
