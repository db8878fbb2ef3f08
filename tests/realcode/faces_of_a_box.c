// device: faces plane main
#include <stdio.h>
#include <stdlib.h>
typedef struct { double *ex, *ey, *old; int nx, ny, nz; } Grid;
#define Ex(M, N, P) g->ex[((M) * g->ny + (N)) * g->nz + (P)]
#define Ey(M, N, P) g->ey[((M) * (g->ny - 1) + (N)) * (g->nz - 1) + (P)]
#define Old(M, P) g->old[(M) * g->nz + (P)]
static void faces(Grid *g)
{
    int m, n = 0, p;
    for (m = 0; m < g->nx - 1; m++)
        for (p = 0; p < g->nz; p++) {
            Ex(m, n, p) = Old(m, p) + 0.3 * (Ex(m, n + 1, p) - Ex(m, n, p));
            Old(m, p) = Ex(m, n + 1, p);
        }
    n = g->ny - 1;
    for (m = 0; m < g->nx - 1; m++)
        for (p = 0; p < g->nz; p++) {
            Ex(m, n, p) = Old(m, p) + 0.3 * (Ex(m, n - 1, p) - Ex(m, n, p));
            Old(m, p) = Ex(m, n - 1, p);
        }
}
static void plane(Grid *g, int j)
{
    for (int i = 0; i < g->nx; i++)
        for (int k = 0; k < g->nz - 1; k++)
            Ey(i, j - 1, k) += 0.5 * Ex(i, j, k);
}
int main(int argc, char **argv)
{
    Grid grid = {0, 0, 0, 9, 7 + argc, 12}, *g = &grid;
    int n = grid.nx * grid.ny * grid.nz;
    g->ex = malloc(n * sizeof(double));
    g->ey = malloc(n * sizeof(double));
    g->old = malloc(n * sizeof(double));
    for (int i = 0; i < n; i++) {
        g->ex[i] = i % 13;
        g->ey[i] = i % 7;
        g->old[i] = i % 5;
    }
    for (int t = 0; t < 3; t++) {
        faces(g);
        plane(g, 4);
    }
    for (int i = 0; i < n; i += 11) printf("%.17g %.17g\n", g->ex[i], g->ey[i]);
    return 0;
}
