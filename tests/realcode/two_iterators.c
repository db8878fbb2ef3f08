// device: reverse
#include <stdio.h>
void reverse(int n, const double *in, double *out)
{
    int i, j;
    for (i = 0, j = n - 1; i < n; i++, j--)
        out[i] = in[j];
}
int main(void)
{
    double a[33], b[33];
    for (int i = 0; i < 33; i++) a[i] = i;
    reverse(33, a, b);
    printf("%g %g\n", b[0], b[32]);
    return 0;
}
