#include <stdio.h>

void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        printf("%f\n", a[i]);
#pragma endscop
}
