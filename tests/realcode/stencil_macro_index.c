// device: jacobi
#include <stdio.h>
#include <stdlib.h>
#define IDX(i, j) ((i) + (j) * ld)
void jacobi(double *a, double *b, int n, int m, int ld, int iters)
{
    for (int it = 0; it < iters; ++it) {
        for (int j = 1; j < m - 1; ++j)
            for (int i = 1; i < n - 1; ++i)
                b[IDX(i, j)] = (a[IDX(i - 1, j)] + a[IDX(i + 1, j)] + a[IDX(i, j - 1)] + a[IDX(i, j + 1)]) / 4;
        for (int j = 1; j < m - 1; ++j)
            for (int i = 1; i < n - 1; ++i)
                a[IDX(i, j)] = b[IDX(i, j)];
    }
}
int main(void)
{
    int n = 20, m = 24, ld = 22;
    double *a = calloc(ld * m, sizeof *a), *b = calloc(ld * m, sizeof *b);
    for (int i = 0; i < n; i++) a[IDX(i, 0)] = 1.0;
    jacobi(a, b, n, m, ld, 6);
    printf("%.8f %.8f\n", a[IDX(5, 1)], a[IDX(10, 4)]);
    free(a);
    free(b);
    return 0;
}
