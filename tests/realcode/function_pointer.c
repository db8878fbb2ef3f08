// device:
#include <stdio.h>
static double twice(double x) { return 2 * x; }
void map(int n, double *a, double (*f)(double)) { for (int i = 0; i < n; i++) a[i] = f(a[i]); }
int main(void)
{
    double a[10];
    for (int i = 0; i < 10; i++) a[i] = i;
    map(10, a, twice);
    printf("%g\n", a[9]);
    return 0;
}
