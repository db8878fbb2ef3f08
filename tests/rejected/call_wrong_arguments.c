#include <math.h>

void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = pow(a[i]);
#pragma endscop
}
