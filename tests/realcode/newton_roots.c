// device: roots
#include <stdio.h>
#include <math.h>
void roots(int n, const double *a, double *r)
{
    for (int i = 0; i < n; i++) {
        double x = a[i] > 1 ? a[i] : 1;
        do {
            x = 0.5 * (x + a[i] / x);
        } while (fabs(x * x - a[i]) > 1e-9 * a[i]);
        r[i] = x;
    }
}
int main(void)
{
    double a[40], r[40];
    for (int i = 0; i < 40; i++) a[i] = i + 0.5;
    roots(40, a, r);
    for (int i = 0; i < 40; i += 5) printf("%.9f\n", r[i]);
    return 0;
}
