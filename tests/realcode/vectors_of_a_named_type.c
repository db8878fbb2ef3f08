// device: forces
#include <stdio.h>
#define ATOMS 50

typedef double real3[3];
typedef real3 matrix[2];

static void zero(real3 a)
{
    a[0] = 0.0;
    a[1] = 0.0;
    a[2] = 0.0;
}

static double square(const real3 a)
{
    double sum = 0.0;
    for (int k = 0; k < 3; k++)
        sum += a[k] * a[k];
    return sum;
}

static void split(matrix m, const real3 a)
{
    for (int k = 0; k < 3; k++) {
        m[0][k] = a[k];
        m[1][k] = 2.0 * a[k];
    }
}

void forces(int n, real3 *restrict f, double *restrict u, matrix *restrict m, const real3 *restrict r)
{
    for (int i = 0; i < n; i++) {
        u[i] = square(r[i]);
        zero(f[i]);
        f[i][1] = 0.5 * u[i];
        split(m[i], r[i]);
    }
}

int main(void)
{
    static real3 f[ATOMS], r[ATOMS];
    static matrix m[ATOMS];
    double u[ATOMS];
    for (int i = 0; i < ATOMS; i++)
        for (int k = 0; k < 3; k++) {
            r[i][k] = 0.25 * i + k;
            f[i][k] = -1.0;
        }
    forces(ATOMS, f, u, m, (const real3 *)r);
    for (int i = 0; i < ATOMS; i += 7)
        printf("%g %g %g %g %g\n", f[i][0], f[i][1], f[i][2], u[i], m[i][1][2]);
    return 0;
}
