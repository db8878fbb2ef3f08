// device: work
#include <stdio.h>
void work(int n, int m, double a[n][m], double b[n])
{
    int i, j;
    double t;
#pragma omp parallel for private(j, t)
    for (i = 0; i < n; i++) {
        t = 0;
        for (j = 0; j < m; j++) {
            a[i][j] = a[i][j] * 0.5 + 1;
            t = t + a[i][j];
        }
        b[i] = t;
    }
}
int main(void)
{
    static double a[30][12], b[30];
    for (int i = 0; i < 30; i++) for (int j = 0; j < 12; j++) a[i][j] = i * j;
    work(30, 12, a, b);
    for (int i = 0; i < 30; i += 4) printf("%g\n", b[i]);
    return 0;
}
