// device: gemm
#include <stdio.h>
#define BS 8
#define MIN(a, b) ((a) < (b) ? (a) : (b))
void gemm(int n, const double *a, const double *b, double *c)
{
    for (int ii = 0; ii < n; ii += BS)
        for (int jj = 0; jj < n; jj += BS)
            for (int kk = 0; kk < n; kk += BS)
                for (int i = ii; i < MIN(ii + BS, n); i++)
                    for (int j = jj; j < MIN(jj + BS, n); j++) {
                        double s = c[i * n + j];
                        for (int k = kk; k < MIN(kk + BS, n); k++)
                            s += a[i * n + k] * b[k * n + j];
                        c[i * n + j] = s;
                    }
}
int main(void)
{
    enum { N = 21 };
    static double a[N * N], b[N * N], c[N * N];
    for (int i = 0; i < N * N; i++) { a[i] = i % 7 - 3; b[i] = i % 5 - 2; }
    gemm(N, a, b, c);
    double t = 0;
    for (int i = 0; i < N; i++) t += c[i * N + i];
    printf("%g %g\n", t, c[5 * N + 9]);
    return 0;
}
