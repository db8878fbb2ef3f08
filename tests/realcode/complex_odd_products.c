// device: work main
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#define N 256
typedef double complex cplx;
struct body { cplx z; float complex v; double m; };
static cplx u[N], v[N], p[N], q[N];
static float complex fu[N], fp[N];
static struct body bodies[N];
static double odd[8] = {0.0, -0.0, 1.5, -2.25, INFINITY, -INFINITY, NAN, 1e308};
static cplx mul(cplx a, cplx b) { return a * b; }
static double norm2(double complex z) { return creal(z) * creal(z) + cimag(z) * cimag(z); }
static void show(const char *what, double x) {
    unsigned long long bits;
    if (x != x) { printf("%s nan\n", what); return; }
    memcpy(&bits, &x, sizeof bits);
    printf("%s %016llx\n", what, bits);
}
void work(int n, cplx *restrict out, const cplx *restrict in, cplx w, double t)
{
    cplx scale = w * 2;
    for (int i = 0; i < n; i++) {
        cplx z = in[i] * w;
        cplx zz = z * z;
        out[i] = mul(zz, scale) - t + mul(in[i], in[n - 1 - i]) * (1.0 + 2.0 * I);
        out[i] *= z;
        out[i] -= t * I;
        if (z != 0 && norm2(out[i]) < 1e30)
            out[i] /= t;
    }
}
int main(void)
{
    for (int i = 0; i < N; i++) {
        u[i] = CMPLX(odd[i % 8], odd[i / 8 % 8]);
        v[i] = CMPLX(odd[i / 4 % 8], odd[i / 32 % 8]);
        fu[i] = u[i];
    }
    for (int i = 0; i < N; i++)
        p[i] = u[i] * v[i];
    for (int i = 0; i < N; i++)
        q[i] = ~u[i] * 3 - v[i] * odd[i % 8] + odd[i % 5] * v[i];
    for (int i = 0; i < N; i++)
        fp[i] = fu[i] * fu[N - 1 - i] + (float) i * I;
    for (int i = 0; i < N; i++) {
        bodies[i].z = u[i] / 3 + i;
        bodies[i].v = fu[i] * v[i];
        bodies[i].m = cabs(v[i]) + carg(u[i]);
    }
    for (int i = 0; i < N; i++) { show("p", creal(p[i])); show("p", cimag(p[i])); show("q", creal(q[i])); show("q", cimag(q[i]));
        show("f", creal(fp[i])); show("f", cimag(fp[i])); show("b", creal(bodies[i].z)); show("b", cimag(bodies[i].z));
        show("v", crealf(bodies[i].v)); show("v", cimagf(bodies[i].v)); show("m", bodies[i].m); }
    work(N, q, u, 0.5 - 0.125 * I, 1.75);
    for (int i = 0; i < N; i++) { show("o", creal(q[i])); show("o", cimag(q[i])); }
    return 0;
}
