// device: summary
#include <stdio.h>
#define AT(j, k) ((x1 + 4) * ((k) - (y0 - 2)) + (j) - (x0 - 2))
static double volume[44 * 40], density[44 * 40];
static void summary(int *xmin, int *xmax, int *ymin, int *ymax, double *volume, double *density, double *mass,
                    double *least)
{
    int x0 = *xmin, x1 = *xmax, y0 = *ymin, y1 = *ymax, j, k;
    double total = 0.0, smallest = 1e30, cell;
#pragma omp parallel
    {
#pragma omp for private(cell, j) reduction(+ : total)
        for (k = y0; k <= y1; k++)
            for (j = x0; j <= x1; j++) {
                cell = volume[AT(j, k)] * density[AT(j, k)];
                total = total + cell;
            }
#pragma omp for private(j) reduction(min : smallest)
        for (k = y0; k <= y1; k++)
            for (j = x0; j <= x1; j++)
                if (volume[AT(j, k)] < smallest)
                    smallest = volume[AT(j, k)];
    }
    *mass = total;
    *least = smallest;
}
int main(void)
{
    int xmin = 1, xmax = 40, ymin = 1, ymax = 36;
    double mass, least;
    for (int i = 0; i < 44 * 40; i++)
        volume[i] = 2 + i * 7 % 13, density[i] = 1 + i % 5;
    summary(&xmin, &xmax, &ymin, &ymax, volume, density, &mass, &least);
    printf("%g %g\n", mass, least);
    return 0;
}
