// device: swap
#include <stdio.h>
static void swap2(double *a, double *b) { double t = *a; *a = *b; *b = t; }
void swap(int n, double *restrict x, double *restrict y)
{
    for (int i = 0; i < n; i++)
        swap2(&x[i], &y[i]);
}
int main(void)
{
    double x[50], y[50];
    for (int i = 0; i < 50; i++) { x[i] = i; y[i] = -i; }
    swap(50, x, y);
    printf("%g %g %g\n", x[0], x[49], y[25]);
    return 0;
}
