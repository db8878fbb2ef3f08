#include <stddef.h>

float *last;

void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        last = NULL;
        a[i] = 0;
    }
#pragma endscop
}
