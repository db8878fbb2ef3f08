// device: dft
#include <stdio.h>
#include <math.h>
void dft(int n, const double *x, double *re, double *im)
{
    for (int k = 0; k < n; k++) {
        double sr = 0, si = 0;
        for (int t = 0; t < n; t++) {
            double angle = 2 * 3.14159265358979323846 * t * k / n;
            sr += x[t] * cos(angle);
            si -= x[t] * sin(angle);
        }
        re[k] = sr;
        im[k] = si;
    }
}
int main(void)
{
    double x[64], re[64], im[64];
    for (int i = 0; i < 64; i++) x[i] = (i / 8) % 2;
    dft(64, x, re, im);
    for (int i = 0; i < 64; i += 5) printf("%.6f %.6f\n", re[i], im[i]);
    return 0;
}
