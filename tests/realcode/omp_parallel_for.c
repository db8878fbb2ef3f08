// device: scale
#include <stdio.h>
void scale(int n, double *a, double k)
{
    int i;
#pragma omp parallel for private(i) shared(a) schedule(static)
    for (i = 0; i < n; i++)
        a[i] *= k;
}
int main(void)
{
    double a[100];
    for (int i = 0; i < 100; i++) a[i] = i;
    scale(100, a, 1.5);
    printf("%g %g\n", a[1], a[99]);
    return 0;
}
