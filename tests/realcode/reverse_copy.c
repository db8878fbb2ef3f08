// device: reverse
#include <stdio.h>
void reverse(const double *src, double *dst, int n)
{
    const double *s = src + n;
    while (n--)
        *dst++ = *--s;
}
int main(void)
{
    double a[37], b[37];
    for (int i = 0; i < 37; i++)
        a[i] = i * 0.5;
    reverse(a, b, 37);
    printf("%g %g %g\n", b[0], b[10], b[36]);
    return 0;
}
