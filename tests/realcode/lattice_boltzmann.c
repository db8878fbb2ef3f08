// device: stream collide
#include <stdio.h>
enum { NX = 24, NY = 18, Q = 9 };
static const int cx[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
static const double wt[Q] = {4. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 36, 1. / 36, 1. / 36, 1. / 36};
double f[NX][NY][Q], g[NX][NY][Q];
void stream(void)
{
    for (int x = 1; x < NX - 1; x++)
        for (int y = 1; y < NY - 1; y++) {
            g[x][y][0] = f[x][y][0];
            g[x][y][1] = f[x - 1][y][1];
            g[x][y][2] = f[x][y - 1][2];
            g[x][y][3] = f[x + 1][y][3];
            g[x][y][4] = f[x][y + 1][4];
            g[x][y][5] = f[x - 1][y - 1][5];
            g[x][y][6] = f[x + 1][y - 1][6];
            g[x][y][7] = f[x + 1][y + 1][7];
            g[x][y][8] = f[x - 1][y + 1][8];
        }
}
void collide(double omega)
{
    for (int x = 1; x < NX - 1; x++)
        for (int y = 1; y < NY - 1; y++) {
            double rho = 0, ux = 0, uy = 0;
            for (int q = 0; q < Q; q++) {
                rho += g[x][y][q];
                ux += cx[q] * g[x][y][q];
                uy += cy[q] * g[x][y][q];
            }
            ux /= rho;
            uy /= rho;
            for (int q = 0; q < Q; q++) {
                double cu = cx[q] * ux + cy[q] * uy;
                double eq = wt[q] * rho * (1 + 3 * cu + 4.5 * cu * cu - 1.5 * (ux * ux + uy * uy));
                f[x][y][q] = g[x][y][q] + omega * (eq - g[x][y][q]);
            }
        }
}
int main(void)
{
    for (int x = 0; x < NX; x++) for (int y = 0; y < NY; y++) for (int q = 0; q < Q; q++) f[x][y][q] = g[x][y][q] = wt[q] * (1 + 0.01 * ((x + y) % 5));
    for (int t = 0; t < 3; t++) { stream(); collide(1.2); }
    printf("%.12g %.12g\n", f[5][5][1], f[12][9][6]);
    return 0;
}
