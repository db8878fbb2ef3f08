// device: shallow
#include <stdio.h>
typedef double grid[24][24];
void shallow(grid h, grid u, grid v, grid hn, double dt)
{
    for (int i = 1; i < 23; i++)
        for (int j = 1; j < 23; j++) {
            double fx = h[i + 1][j] * u[i + 1][j] - h[i - 1][j] * u[i - 1][j];
            double fy = h[i][j + 1] * v[i][j + 1] - h[i][j - 1] * v[i][j - 1];
            hn[i][j] = h[i][j] - 0.5 * dt * (fx + fy);
        }
}
static grid h, u, v, hn;
int main(void)
{
    for (int i = 0; i < 24; i++) for (int j = 0; j < 24; j++) { h[i][j] = 1 + ((i - 12) * (i - 12) + (j - 12) * (j - 12) < 16); u[i][j] = 0.1 * i; v[i][j] = 0.2 * j; }
    shallow(h, u, v, hn, 0.01);
    printf("%.12g %.12g\n", hn[12][12], hn[9][14]);
    return 0;
}
