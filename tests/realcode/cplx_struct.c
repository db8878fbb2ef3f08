// device: cmul
#include <stdio.h>
typedef struct { double re, im; } cplx;
static inline cplx mul(cplx a, cplx b)
{
    cplx c;
    c.re = a.re * b.re - a.im * b.im;
    c.im = a.re * b.im + a.im * b.re;
    return c;
}
void cmul(int n, const cplx *a, const cplx *b, cplx *c) { for (int i = 0; i < n; i++) c[i] = mul(a[i], b[i]); }
int main(void)
{
    cplx a[25], b[25], c[25];
    for (int i = 0; i < 25; i++) { a[i].re = i; a[i].im = 1; b[i].re = 2; b[i].im = -i; }
    cmul(25, a, b, c);
    for (int i = 0; i < 25; i += 6) printf("%g %g\n", c[i].re, c[i].im);
    return 0;
}
