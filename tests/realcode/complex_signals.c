// device: scaled quarter walk weights copyall laplace dot
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef struct { int n; double complex *x; double complex shift; } signal;
static const double complex unit[4] = {1, I, -1, -I};
static double complex total;
double complex field[20][30];
void scaled(signal *s, double f)
{
    for (int i = 0; i < s->n; i++)
        s->x[i] = s->x[i] * f + s->shift;
}
void quarter(double complex *restrict y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] *= unit[i & 3];
}
void walk(double complex *y, const double complex *x, int n)
{
    while (n--)
        *y++ = *x++ * 2;
}
void sumup(const double complex *x, int n)
{
    for (int i = 0; i < n; i++)
        total += x[i];
}
void weights(int n, double complex *x)
{
    for (int i = 0; i < n; i++) {
        double complex tmp[3];
        for (int k = 0; k < 3; k++) tmp[k] = x[i] * (k + 1);
        x[i] = tmp[0] + tmp[1] * tmp[2];
        if (cimag(x[i]) < 0) x[i] = conj(x[i]);
        double complex r = creal(x[i]) > 10 ? x[i] / 2 : x[i] + 1;
        x[i] = r == 0 ? 5 : r;
    }
}
void copyall(double complex *y, const double complex *x, int n)
{
    memcpy(y, x, n * sizeof(double complex));
    for (int i = 0; i < n; i++) y[i] = x[n - 1 - i];
}
void laplace(int steps)
{
    static double complex next[20][30];
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < 19; i++)
            for (int j = 1; j < 29; j++)
                next[i][j] = 0.25 * (field[i-1][j] + field[i+1][j] + field[i][j-1] + field[i][j+1]) - I * 0.01 * field[i][j];
        for (int i = 1; i < 19; i++)
            for (int j = 1; j < 29; j++)
                field[i][j] = next[i][j];
    }
}
double complex dot(int n, const double complex *x, const double complex *y)
{
    double complex s = 0;
    for (int i = 0; i < n; i++)
        s += x[i] * conj(y[i]);
    return s;
}
int main(void)
{
    int n = 90;
    double complex *x = malloc(n * sizeof *x), *y = calloc(n, sizeof(double complex));
    signal s = {n, x, 0.5 - 2 * I};
    for (int i = 0; i < n; i++) x[i] = i - 0.5 * i * i * I;
    scaled(&s, 1.25);
    quarter(x, n);
    walk(y, x, n);
    sumup(y, n);
    weights(n, x);
    for (int i = 0; i < 20; i++) for (int j = 0; j < 30; j++) field[i][j] = i * j + i * I;
    laplace(5);
    printf("%a %a\n", creal(total), cimag(total));
    total = dot(n, x, y);
    printf("%a %a\n", creal(total), cimag(total));
    copyall(y, x, n);
    for (int i = 0; i < n; i += 11) printf("%a %a %a %a\n", creal(x[i]), cimag(x[i]), creal(y[i]), cimag(y[i]));
    for (int i = 0; i < 20; i += 3) printf("%a %a\n", creal(field[i][7]), cimag(field[i][7]));
    return 0;
}
