// device: main
#include <complex.h>
#include <stdio.h>
#define N 40
static double complex a[N][8]; static double o[N], p[N]; static int q[N];
static double size(double complex z) { double x = creal(z), y = cimag(z); return x * x + y * y; }
static void bump(int *x, int by) { *x += by; }
int main(void)
{
    for (int i = 0; i < N; i++) for (int k = 0; k < 8; k++) a[i][k] = (i * 3 + k * 5) % 7 + I * (k - 3);
    for (int i = 0; i < N; i++) {
        double t = 0; int k = 0;
        while (k < 8) { k++; if (cimag(a[i][k & 7]) > cimag(a[(i + 1) % N][3])) break; t += creal(a[i][k & 7]); }
        o[i] = t;
        int j = 0; double s = 0;
        while (j < 7) { j++; double z = size(a[i][j]); if (z > 30) break; bump(&q[i], j); s += z; }
        p[i] = s;
        int r = 0;
        do { double complex w = a[i][r & 7]; r += 2; if (size(w) < 2) continue; p[i] += cimag(w); } while (r < 6 + (int) creal(a[i][1]));
    }
    for (int i = 0; i < N; i += 3) printf("%g %g %d\n", o[i], p[i], q[i]);
    return 0;
}
