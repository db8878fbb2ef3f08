// device: autocorr
#include <stdio.h>
void autocorr(int n, const double *x, int lags, double *r)
{
    for (int l = 0; l < lags; l++) {
        r[l] = 0;
        for (int i = l; i < n; i++)
            r[l] += x[i] * x[i - l];
        r[l] /= n - l;
    }
}
int main(void)
{
    double x[120], r[50];
    for (int i = 0; i < 120; i++) x[i] = i % 12;
    autocorr(120, x, 50, r);
    for (int i = 0; i < 50; i += 6) printf("%.12g\n", r[i]);
    return 0;
}
