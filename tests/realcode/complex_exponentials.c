// device: main
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define N 2000
static double complex u[N], v[N];
static float complex fu[N], fv[N];
static double odd[] = {0.0, -0.0, 1.5, -2.25, INFINITY, -INFINITY, NAN, 1e308, 709.5, 1400.25, 5000, -745, 1e-310, -1e-320, 3e-39, 89.5, 177.5, 300, -100, 709, 88};
int main(void)
{
    int m = sizeof odd / sizeof *odd;
    for (int i = 0; i < N; i++) {
        double a = rand() * 1e-6 - 1000, b = rand() * 1e-7;
        if (i < m * m) a = odd[i % m], b = odd[i / m];
        else if (i % 3 == 0) a *= 1e-3;
        u[i] = CMPLX(a, b);
        fu[i] = CMPLXF(i < m * m ? a : a * 0.1, b);
    }
    for (int i = 0; i < N; i++)
        v[i] = cexp(u[i]);
    for (int i = 0; i < N; i++)
        fv[i] = cexpf(fu[i]);
    for (int i = 0; i < N; i++) { double x = creal(v[i]), y = cimag(v[i]), f = crealf(fv[i]), g = cimagf(fv[i]);
        if (x != x) printf("nan"); else printf("%a", x);
        if (y != y) printf("nan"); else printf("%a", y);
        if (f != f) printf("nan"); else printf("%a", f);
        if (g != g) printf("nan\n"); else printf("%a\n", g);}
    return 0;
}
