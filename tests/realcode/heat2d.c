// device: step
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void step(double *restrict unew, const double *restrict u, int nx, int ny, double r)
{
    for (int j = 1; j < ny - 1; j++)
        for (int i = 1; i < nx - 1; i++) {
            int c = j * nx + i;
            unew[c] = u[c] + r * (u[c - 1] + u[c + 1] + u[c - nx] + u[c + nx] - 4 * u[c]);
        }
}
int main(int argc, char **argv)
{
    int nx = 34, ny = 29, steps = argc > 1 ? atoi(argv[1]) : 5;
    double *u = calloc(nx * ny, sizeof *u), *v = calloc(nx * ny, sizeof *v);
    u[ny / 2 * nx + nx / 2] = 100;
    memcpy(v, u, nx * ny * sizeof *u);
    for (int s = 0; s < steps; s++) {
        step(v, u, nx, ny, 0.2);
        double *t = u; u = v; v = t;
    }
    for (int j = 0; j < ny; j += 4) printf("%.12g\n", u[j * nx + nx / 2]);
    free(u); free(v);
    return 0;
}
