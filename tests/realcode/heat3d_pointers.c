// device: step
#include <stdio.h>
#include <stdlib.h>
double ***cube(int nx, int ny, int nz)
{
    double ***u = malloc(nx * sizeof *u);
    for (int i = 0; i < nx; i++) {
        u[i] = malloc(ny * sizeof **u);
        for (int j = 0; j < ny; j++)
            u[i][j] = calloc(nz, sizeof ***u);
    }
    return u;
}
void step(double ***u, double ***unew, int nx, int ny, int nz, double r)
{
    for (int i = 1; i < nx - 1; i++)
        for (int j = 1; j < ny - 1; j++)
            for (int k = 1; k < nz - 1; k++)
                unew[i][j][k] = u[i][j][k] + r * (u[i+1][j][k] + u[i-1][j][k] + u[i][j+1][k] + u[i][j-1][k]
                                                  + u[i][j][k+1] + u[i][j][k-1] - 6 * u[i][j][k]);
}
int main(void)
{
    int nx = 8, ny = 9, nz = 10;
    double ***a = cube(nx, ny, nz), ***b = cube(nx, ny, nz), ***t;
    a[4][4][4] = 100;
    a[3][5][2] = -20;
    for (int n = 0; n < 5; n++) {
        step(a, b, nx, ny, nz, 0.1);
        t = a; a = b; b = t;
    }
    printf("%.6f %.6f %.6f\n", a[4][4][4], a[3][4][5], a[2][5][3]);
    return 0;
}
