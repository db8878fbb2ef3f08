// device: forces integrate
#include <stdio.h>
#include <math.h>
#define N 32
struct system {
    double x[N], y[N], z[N];
    double vx[N], vy[N], vz[N];
    double m[N];
} sys;
static double ax[N], ay[N], az[N];
void forces(struct system *s)
{
    for (int i = 0; i < N; i++) {
        double fx = 0, fy = 0, fz = 0;
        for (int j = 0; j < N; j++) {
            double dx = s->x[j] - s->x[i], dy = s->y[j] - s->y[i], dz = s->z[j] - s->z[i];
            double r2 = dx * dx + dy * dy + dz * dz + 1e-3;
            double inv = s->m[j] / (r2 * sqrt(r2));
            fx += dx * inv;
            fy += dy * inv;
            fz += dz * inv;
        }
        ax[i] = fx; ay[i] = fy; az[i] = fz;
    }
}
void integrate(struct system *s, double dt)
{
    for (int i = 0; i < N; i++) {
        s->vx[i] += ax[i] * dt; s->vy[i] += ay[i] * dt; s->vz[i] += az[i] * dt;
        s->x[i] += s->vx[i] * dt; s->y[i] += s->vy[i] * dt; s->z[i] += s->vz[i] * dt;
    }
}
int main(void)
{
    for (int i = 0; i < N; i++) {
        sys.x[i] = i % 4; sys.y[i] = i / 4 % 4; sys.z[i] = i / 16; sys.m[i] = 1 + i % 3;
    }
    for (int t = 0; t < 3; t++) {
        forces(&sys);
        integrate(&sys, 0.01);
    }
    printf("%.8f %.8f %.8f\n", sys.x[5], sys.y[17], sys.vz[31]);
    return 0;
}
