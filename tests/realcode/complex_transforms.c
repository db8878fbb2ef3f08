// device: mandel fft_stage dft dft2 energy
#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
/* mandelbrot, julia with complex in while, FFT stage, dft, newton */
void mandel(int h, int w, int *out)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            float complex c = (x * 3.0f / w - 2.0f) + (y * 2.0f / h - 1.0f) * I;
            float complex z = 0;
            int k = 0;
            while (cabsf(z) < 2.0f && k < 50) {
                z = z * z + c;
                k++;
            }
            out[y * w + x] = k;
        }
}
void fft_stage(int n, int half, double complex *x, const double complex *tw)
{
    for (int s = 0; s < n; s += 2 * half)
        for (int k = 0; k < half; k++) {
            double complex t = tw[k] * x[s + k + half];
            x[s + k + half] = x[s + k] - t;
            x[s + k] += t;
        }
}
void dft(int n, double complex *out, const double *in)
{
    for (int k = 0; k < n; k++) {
        out[k] = 0;
        for (int j = 0; j < n; j++)
            out[k] += in[j] * cexp(-2.0 * M_PI * I * k * j / n);
    }
}
void dft2(int n, double complex *out, const double *in)
{
    for (int k = 0; k < n; k++) {
        double complex sum = 0.0;
        for (int j = 0; j < n; j++) {
            double phi = -2.0 * M_PI * k * j / n;
            sum += in[j] * (cos(phi) + I * sin(phi));
        }
        out[k] = sum;
    }
}
double energy(int n, const double complex *z, double complex *last)
{
    double e = 0;
    double complex run = 1;
    for (int i = 0; i < n; i++) {
        e += creal(z[i] * conj(z[i]));
        run = run * 0.5 + z[i];
    }
    *last = run;
    return e;
}
int main(int argc, char **argv)
{
    int n = 64, h = 24, w = 40;
    int *img = malloc(h * w * sizeof *img);
    double complex *x = malloc(n * sizeof *x), *tw = malloc(n * sizeof *tw), last;
    double *r = malloc(n * sizeof *r);
    for (int i = 0; i < n; i++) { x[i] = cos(i) + sin(3 * i) * I; r[i] = i % 11; tw[i] = cexp(-I * M_PI * i / n); }
    mandel(h, w, img);
    for (int half = 1; half < n; half *= 2) fft_stage(n, half, x, tw);
    long sum = 0;
    for (int i = 0; i < h * w; i++) sum += img[i];
    printf("%ld %a\n", sum, energy(n, x, &last));
    printf("%a %a\n", creal(last), cimag(last));
    dft2(n, x, r);
    for (int i = 0; i < n; i += 9)
        printf("%a %a\n", creal(x[i]), cimag(x[i]));
    dft(n, x, r);
    for (int i = 0; i < n; i += 9) printf("%a %a\n", creal(x[i]), cimag(x[i]));
    return 0;
}
