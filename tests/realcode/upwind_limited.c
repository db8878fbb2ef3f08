// device: advect
#include <math.h>
#include <stdio.h>
#define AT(j, k, width) ((width) * ((k) - (y0 - 2)) + (j) - (x0 - 2))
#define MIN(a, b) ((a) >= (b) ? (b) : (a))
static double flux[40 * 30], density[40 * 30], mass[40 * 30], spacing[40];
static void advect(int *xmin, int *xmax, int *ymin, int *ymax, double *flux, double *density, double *mass,
                   double *dx)
{
    int x0 = *xmin, x1 = *xmax, y0 = *ymin, y1 = *ymax;
    int j, k, upwind, donor, downwind, dif;
    double sigma, before, behind, limiter;
    for (k = y0; k <= y1; k++)
        for (j = x0; j <= x1 + 2; j++) {
            if (flux[AT(j, k, x1 + 5)] > 0.0) {
                upwind = j - 2;
                donor = j - 1;
                downwind = j;
                dif = donor;
            } else {
                upwind = MIN(j + 1, x1 + 2);
                donor = j;
                downwind = j - 1;
                dif = upwind;
            }
            sigma = fabs(flux[AT(j, k, x1 + 5)]) * dx[j - (x0 - 2)] / dx[dif - (x0 - 2)];
            before = density[AT(donor, k, x1 + 4)] - density[AT(upwind, k, x1 + 4)];
            behind = density[AT(downwind, k, x1 + 4)] - density[AT(donor, k, x1 + 4)];
            if (before * behind > 0.0)
                limiter = (1.0 - sigma) * MIN(fabs(before), fabs(behind));
            else
                limiter = 0.0;
            mass[AT(j, k, x1 + 5)] = flux[AT(j, k, x1 + 5)] * (density[AT(donor, k, x1 + 4)] + limiter);
        }
}
int main(void)
{
    int xmin = 1, xmax = 30, ymin = 1, ymax = 20;
    double sum = 0;
    for (int i = 0; i < 40 * 30; i++)
        flux[i] = (i * 7 % 13 - 6) / 16.0, density[i] = 1 + i % 11 * 0.25, mass[i] = 0;
    for (int i = 0; i < 40; i++)
        spacing[i] = 1 + i % 3;
    advect(&xmin, &xmax, &ymin, &ymax, flux, density, mass, spacing);
    for (int i = 0; i < 40 * 30; i++)
        sum += mass[i] * (i % 5 + 1);
    printf("%.12g\n", sum);
    return 0;
}
