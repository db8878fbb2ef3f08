// device: normalise
#include <stdio.h>
int normalise(int n, double *v)
{
    double s = 0;
    if (n <= 0) return -1;
    for (int i = 0; i < n; i++) s += v[i];
    if (s == 0) return 0;
    for (int i = 0; i < n; i++) v[i] /= s;
    return 1;
}
int main(void)
{
    double v[40];
    for (int i = 0; i < 40; i++) v[i] = i % 8;
    printf("%d %d\n", normalise(40, v), normalise(0, v));
    printf("%g\n", v[7]);
    return 0;
}
