#include <complex.h>

void divided(int n, double _Complex *a, double _Complex w)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = a[i] / w;
#pragma endscop
}

void rooted(int n, float _Complex *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = csqrtf(a[i]);
#pragma endscop
}

void listed(int n, double _Complex *a)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        double _Complex both[2] = {1.0i, a[i]};
        a[i] = both[1] * both[0];
    }
#pragma endscop
}

void ended(int n, double _Complex *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        while (creal(a[i] * a[i] * a[i]) > 4.0)
            a[i] *= 0.5;
#pragma endscop
}

void constant(int n, double _Complex *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = 0.1i * 0.3i;
#pragma endscop
}

void long_ones(int n, long double _Complex *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = 0;
#pragma endscop
}
