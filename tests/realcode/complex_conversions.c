// device: mixed reals vla rows apply dotted horner
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdbool.h>
#define N 70
static double complex w0 = 0.5 + 1.5 * I;
static double x[N], y[N];
static double complex z[N], u[N], m[N][N];
static float complex f[N];
static int cnt[N];
static bool flag[N];
static void mixed(int n, double complex a[n], const float complex *b, const double complex *w)
{
    for (int i = 0; i < n; i++) {
        float complex t;
        t = a[i];
        t *= 3;
        t += 0.1;
        t -= b[i] * 2i;
        a[i] = t / (i + 1) + *w;
        a[i] = -a[i] + w0;
    }
}
static void reals(int n)
{
    for (int i = 0; i < n; i++) {
        x[i] = z[i];
        x[i] += z[i] * u[i];
        x[i] *= z[i];
        cnt[i] = z[i] == u[i] || z[i];
        flag[i] = z[i];
        y[i] = (float) (z[i] * 0.1) + cimagf(f[i]) + (z[i] != x[i]) + !u[i];
    }
}
static void vla(int n, double complex a[n][n], double complex b[n][n])
{
    memset(b, 0, n * n * sizeof(double complex));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            b[i][j] += a[j][i] * a[i][j];
}
static void rows(int n, double complex **r, double complex *sum)
{
    for (int i = 0; i < n; i++) {
        sum[i] = 0;
        for (int j = 0; j < n; j++)
            sum[i] += r[i][j];
    }
}
static double complex poly(double complex v)
{
    if (creal(v) > 3)
        return 1;
    return v * v - 1;
}
static void apply(int n)
{
    for (int i = 0; i < n; i++)
        z[i] = poly(z[i]) * poly(u[i]) + x[i];
}
static double complex dotted(int n)
{
    double complex s = 0;
    for (int i = 0; i < n; i++)
        s += z[i] * conj(u[i]);
    return s;
}
static double complex horner(int n, int k, const double complex *c, double complex *out)
{
    double complex last = 0;

    for (int i = 0; i < n; i++) {
        double complex p = 0, at = z[i];
        for (int j = 0; j < k; j++)
            p = p * at + c[j];
        out[i] = p;
    }
    last = out[n - 1] * 2;
    return last;
}
int main(void)
{
    double complex *r[N], out[N], sum[N], three = 3 - I;
    for (int i = 0; i < N; i++) { z[i] = i * 0.5 - I * sin(i); u[i] = cexp(I * i); f[i] = 0.1f * i + i * I; r[i] = m[i]; }
    for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) m[i][j] = i - j * I * 0.5;
    mixed(N, z, f, &three);
    reals(N);
    rows(N, r, sum);
    apply(N);
    double complex s = dotted(N), h = horner(N, 5, u, out);
    static double complex t[N][N];
    vla(N, m, t);
    for (int i = 0; i < N; i += 7) printf("%a %a %a %a %d %d %a %a %a %a %a\n", x[i], y[i], creal(z[i]), cimag(z[i]), cnt[i], flag[i], creal(sum[i]), cimag(sum[i]), creal(out[i]), cimag(out[i]), cimag(t[i][3]));
    printf("%.12g %.12g %a %a\n", creal(s), cimag(s), creal(h), cimag(h));
    return 0;
}
