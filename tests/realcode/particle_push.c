// device: push
#include <stdio.h>
#include <stdlib.h>
typedef struct particles { int count; double *x, *y, *vx, *vy; } particles;
void push(particles *p, double dt, double ex, double bz)
{
    for (int i = 0; i < p->count; i++) {
        double vx = p->vx[i] + dt * (ex + p->vy[i] * bz);
        double vy = p->vy[i] - dt * p->vx[i] * bz;
        p->vx[i] = vx;
        p->vy[i] = vy;
        p->x[i] += dt * vx;
        p->y[i] += dt * vy;
    }
}
int main(void)
{
    particles p;
    p.count = 150;
    p.x = calloc(150, 8); p.y = calloc(150, 8); p.vx = malloc(150 * 8); p.vy = malloc(150 * 8);
    for (int i = 0; i < 150; i++) { p.vx[i] = i * 0.01; p.vy[i] = 1 - i * 0.02; }
    for (int t = 0; t < 5; t++) push(&p, 0.1, 0.3, 1.1);
    for (int i = 0; i < 150; i += 17) printf("%.12g %.12g\n", p.x[i], p.y[i]);
    return 0;
}
