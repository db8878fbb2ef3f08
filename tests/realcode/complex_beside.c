// device: scale
#include <complex.h>
#include <stdio.h>
static double a[40];
static double complex z[40];
void scale(double t)
{
    double complex w = cexp(t * I) + 0.5 * I;
    for (int i = 0; i < 40; i++)
        a[i] = i * t;
    for (int i = 0; i < 40; i++)
        z[i] = a[i] * w + 1.5i * i;
}
int main(void)
{
    scale(0.25);
    for (int i = 0; i < 40; i += 7) printf("%.6f %.6f\n", creal(z[i]), cimag(z[i]));
    return 0;
}
