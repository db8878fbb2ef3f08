// device: lu_decompose
#include <stdio.h>
#include <stdlib.h>
#define N 14
void lu_decompose(double **a, int n)
{
    int i, j, k;
    for (k = 0; k < n; k++) {
        for (i = k + 1; i < n; i++) {
            a[i][k] /= a[k][k];
            for (j = k + 1; j < n; j++)
                a[i][j] -= a[i][k] * a[k][j];
        }
    }
}
int main()
{
    double *rows[N];
    int i, j;
    for (i = 0; i < N; i++) {
        rows[i] = malloc(N * sizeof(double));
        for (j = 0; j < N; j++)
            rows[i][j] = (i == j ? N + 1.0 : 0.0) + 1.0 / (1 + i + j);
    }
    lu_decompose(rows, N);
    for (i = 0; i < N; i += 4)
        printf("%.6f %.6f\n", rows[i][i], rows[i][(i + 3) % N]);
    return 0;
}
