// device: pad
#include <stdio.h>
void pad(int n, int m, float *a, float v)
{
    int i;
    for (i = 0; i < n; i++) a[i] = a[i] + v;
    for (; i < m; i++) a[i] = 0;
}
int main(void)
{
    float a[64];
    for (int i = 0; i < 64; i++) a[i] = i;
    pad(40, 64, a, 2);
    printf("%g %g %g\n", a[39], a[40], a[63]);
    return 0;
}
