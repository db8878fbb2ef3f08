// device: spmv
#include <stdio.h>
void spmv(int n, int nnz, const int ptr[n + 1], const int col[nnz], const double val[nnz], const double x[n], double y[n])
{
    for (int i = 0; i < n; i++) {
        double sum = 0.0;
        for (int k = ptr[i]; k < ptr[i + 1]; k++)
            sum += val[k] * x[col[k]];
        y[i] = sum;
    }
}
int main(void)
{
    enum { N = 60 };
    int ptr[N + 1], col[3 * N], k = 0;
    double val[3 * N], x[N], y[N];
    for (int i = 0; i < N; i++) {
        ptr[i] = k;
        if (i > 0) { col[k] = i - 1; val[k++] = -1; }
        col[k] = i; val[k++] = 2.5;
        if (i < N - 1) { col[k] = i + 1; val[k++] = -1; }
        x[i] = i % 7;
    }
    ptr[N] = k;
    spmv(N, k, ptr, col, val, x, y);
    for (int i = 0; i < N; i += 5) printf("%g\n", y[i]);
    return 0;
}
