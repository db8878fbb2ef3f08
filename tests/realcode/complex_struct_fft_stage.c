// device: butterfly
#include <stdio.h>
#include <math.h>
typedef struct { double re, im; } cplx;
static cplx cmul(cplx a, cplx b)
{
    cplx r = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    return r;
}
void butterfly(cplx *x, const cplx *w, int half, int blocks, int step)
{
    for (int b = 0; b < blocks; b++)
        for (int k = 0; k < half; k++) {
            cplx *lo = &x[b * 2 * half + k], *hi = &x[b * 2 * half + k + half];
            cplx t = cmul(w[k * step], *hi);
            hi->re = lo->re - t.re;
            hi->im = lo->im - t.im;
            lo->re = lo->re + t.re;
            lo->im = lo->im + t.im;
        }
}
int main(void)
{
    enum { N = 32 };
    cplx x[N], w[N / 2];
    for (int i = 0; i < N; i++) { x[i].re = i % 5; x[i].im = -(i % 3); }
    for (int i = 0; i < N / 2; i++) { w[i].re = cos(6.283185307179586 * i / N); w[i].im = -sin(6.283185307179586 * i / N); }
    for (int half = 1; half < N; half *= 2)
        butterfly(x, w, half, N / (2 * half), N / (2 * half));
    printf("%.6f %.6f %.6f\n", x[0].re, x[5].im, x[31].re);
    return 0;
}
