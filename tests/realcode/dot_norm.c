// device: dot norm2
// flags: --reassociate
#include <stdio.h>
#include <math.h>
double dot(int n, const double *x, const double *y) { double s = 0; int i; for (i = 0; i < n; i++) s += x[i] * y[i]; return s; }
double norm2(int n, const double *x)
{
    double s = 0.0;
    for (int i = 0; i < n; ++i)
        s = s + x[i] * x[i];
    return sqrt(s);
}
int main(void)
{
    static double x[3000], y[3000];
    for (int i = 0; i < 3000; i++) { x[i] = i % 16; y[i] = i % 8; }
    printf("%.10g %.10g\n", dot(3000, x, y), norm2(3000, x));
    return 0;
}
