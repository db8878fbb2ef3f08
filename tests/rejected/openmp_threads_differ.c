#include <stdlib.h>

void f(int n, float *a)
{
#pragma omp parallel
    {
        int mine = rand();
#pragma omp for
        for (int i = 0; i < n; i++)
            a[i] = mine;
    }
}
