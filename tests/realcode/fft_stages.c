// device: butterflies scaled
#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
#define M 6
#define N (1 << M)
#define LINES 40
typedef struct { double re, im; } cplx;
#define cadd(a, b) (cplx){ (a).re + (b).re, (a).im + (b).im }
#define csub(a, b) (cplx){ (a).re - (b).re, (a).im - (b).im }
#define cmul(a, b) (cplx){ (a).re * (b).re - (a).im * (b).im, (a).re * (b).im + (a).im * (b).re }
static cplx work[N][LINES];
static void butterflies(int lines, cplx x[N][LINES], const cplx *roots)
{
    int i, j, k, l, half, first, second;
    cplx root, a, b;
    for (l = 1, half = 1; l <= M; l++, half *= 2) {
        for (i = 0; i < N / (2 * half); i++) {
            first = 2 * i * half;
            second = first + half;
            root = roots[i * half];
            for (k = 0; k < half; k++)
                for (j = 0; j < lines; j++) {
                    a = x[first + k][j];
                    b.re = x[second + k][j].re;
                    b.im = x[second + k][j].im;
                    work[first + k][j] = cadd(a, b);
                    work[second + k][j] = cmul(root, csub(a, b));
                }
        }
        for (k = 0; k < N; k++)
            for (j = 0; j < lines; j++) {
                a = work[k][j];
                b.im = a.im * 0.5;
                b.re = a.re * 0.5;
                x[k][j] = b;
            }
    }
}
static double scaled(int lines, cplx x[N][LINES], double complex *y)
{
    double complex z;
    double s = 0;
    int j;
    for (j = 0; j < lines; j++) {
        z = x[3][j].re + x[5][j].im * I;
        y[j] = z * z;
    }
    printf("%g\n", creal(y[lines - 1]));
    for (j = 0; j < lines; j++) {
        z = y[j] * 2.0;
        y[j] = z - 1.0;
    }
    for (j = 0; j < lines; j++) s += creal(y[j]) + cimag(y[j]);
    return s;
}
int main(void)
{
    cplx (*x)[LINES] = malloc(sizeof(cplx[N][LINES])), roots[N];
    double complex y[LINES];
    for (int k = 0; k < N; k++) {
        roots[k] = (cplx){ 1 - k / 64.0, k / 70.0 };
        for (int j = 0; j < LINES; j++) x[k][j] = (cplx){ (k * 7 + j) % 13 / 4.0, (k + j * 3) % 11 / 8.0 };
    }
    butterflies(LINES, x, roots);
    printf("%.17g %.17g\n", x[5][7].re, x[N - 1][LINES - 1].im);
    printf("%.17g\n", scaled(LINES, x, y));
    free(x);
    return 0;
}
