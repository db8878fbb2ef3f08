// device: sum
#include <stdio.h>
double sum(int n, const double *a)
{
    double s = 0;
#pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < n; i++)
        s += a[i];
    return s;
}
int main(void)
{
    static double a[4000];
    for (int i = 0; i < 4000; i++) a[i] = i % 32;
    printf("%g\n", sum(4000, a));
    return 0;
}
