// device: cholesky
#include <stdio.h>
#include <math.h>
void cholesky(double *a, int n)
{
    for (int j = 0; j < n; j++) {
        for (int k = 0; k < j; k++)
            for (int i = j; i < n; i++)
                a[i * n + j] -= a[i * n + k] * a[j * n + k];
        double d = sqrt(a[j * n + j]);
        for (int i = j; i < n; i++)
            a[i * n + j] /= d;
    }
}
int main(void)
{
    static double a[20 * 20];
    for (int i = 0; i < 20; i++) for (int j = 0; j < 20; j++) a[i * 20 + j] = i == j ? 25 : 1.0 / (1 + i + j);
    cholesky(a, 20);
    for (int i = 0; i < 20; i += 3) printf("%.12g\n", a[i * 20 + i / 2]);
    return 0;
}
