// device: advance
#include <stdio.h>
#define NX 101
void advance(int nt, double dt, double dx, double nu, double u[2][NX])
{
    for (int n = 0; n < nt; n++) {
        int a = n % 2, b = 1 - a;
        for (int i = 1; i < NX - 1; i++)
            u[b][i] = u[a][i] - u[a][i] * dt / dx * (u[a][i] - u[a][i - 1])
                + nu * dt / (dx * dx) * (u[a][i + 1] - 2 * u[a][i] + u[a][i - 1]);
    }
}
int main(void)
{
    static double u[2][NX];
    for (int i = 0; i < NX; i++)
        u[0][i] = u[1][i] = (i > 20 && i < 40) ? 2.0 : 1.0;
    advance(10, 0.001, 0.02, 0.07, u);
    printf("%.6f %.6f %.6f\n", u[0][20], u[0][41], u[1][40]);
    return 0;
}
