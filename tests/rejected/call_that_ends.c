#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

void f(int n, float *a, const float *b)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        assert(b[i] >= 0 && "no length");
        if (b[i] > 9.0f)
            exit(EXIT_FAILURE);
        a[i] = b[i];
    }
#pragma endscop
}

void g(int n, int *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = rand();
    for (int i = 0; i < n; i++)
        a[i] = getchar();
    for (int i = 0; i < n; i++)
        if (!malloc(a[i]))
            abort();
#pragma endscop
}
