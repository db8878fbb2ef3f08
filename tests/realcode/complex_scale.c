// device: rotate
#include <complex.h>
#include <stdio.h>
void rotate(int n, double complex *z, double complex w)
{
    for (int i = 0; i < n; i++)
        z[i] = z[i] * w;
}
int main(void)
{
    double complex z[16];
    for (int i = 0; i < 16; i++) z[i] = i + 2 * i * I;
    rotate(16, z, 0.5 - 0.25 * I);
    for (int i = 0; i < 16; i += 5) printf("%g %g\n", creal(z[i]), cimag(z[i]));
    return 0;
}
