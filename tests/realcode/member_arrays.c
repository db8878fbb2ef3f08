// device: kinetic
#include <stdio.h>
struct atom { double r[3], v[3], f[3]; double m; };
void kinetic(struct atom *a, int n, double dt, double *e)
{
    for (int i = 0; i < n; i++) {
        double k = 0;
        for (int d = 0; d < 3; d++) {
            a[i].v[d] += dt * a[i].f[d] / a[i].m;
            a[i].r[d] += dt * a[i].v[d];
            k += a[i].v[d] * a[i].v[d];
        }
        e[i] = 0.5 * a[i].m * k;
    }
}
int main(void)
{
    struct atom a[18];
    double e[18], t = 0;
    for (int i = 0; i < 18; i++) {
        a[i].m = 1 + i % 3;
        for (int d = 0; d < 3; d++) {
            a[i].r[d] = i + d;
            a[i].v[d] = i - 2 * d;
            a[i].f[d] = d - 1;
        }
    }
    kinetic(a, 18, 0.01, e);
    for (int i = 0; i < 18; i++) t += e[i];
    printf("%.6f %.6f\n", t, a[17].r[2]);
    return 0;
}
