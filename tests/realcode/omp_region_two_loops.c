// device: both
#include <stdio.h>
void both(int n, const float *x, float *y, float *z)
{
#pragma omp parallel default(shared)
    {
#pragma omp for nowait
        for (int i = 0; i < n; i++)
            y[i] = 2 * x[i];
#pragma omp for
        for (int i = 0; i < n; i++)
            z[i] = x[i] + 1;
    }
}
int main(void)
{
    float x[80], y[80], z[80];
    for (int i = 0; i < 80; i++) x[i] = i;
    both(80, x, y, z);
    printf("%g %g\n", y[79], z[40]);
    return 0;
}
