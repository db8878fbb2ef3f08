// device: symmetrise
#include <stdio.h>
void symmetrise(int n, float *a)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            a[j * n + i] = a[i * n + j];
}
int main(void)
{
    static float a[25 * 25];
    for (int i = 0; i < 625; i++) a[i] = i;
    symmetrise(25, a);
    for (int i = 0; i < 25; i += 4) printf("%g %g\n", a[i * 25 + 24], a[24 * 25 + i]);
    return 0;
}
