// device: residual
#include <stdio.h>
#include <math.h>
#define M 33
double phi[M][M], rho[M][M];
double residual(void)
{
    double worst = 0.0;
    int i, j;
    for (i = 1; i < M - 1; ++i)
        for (j = 1; j < M - 1; ++j) {
            double r = fabs(phi[i][j + 1] + phi[i][j - 1] + phi[i + 1][j] + phi[i - 1][j] - 4 * phi[i][j] - rho[i][j]);
            if (r > worst)
                worst = r;
        }
    return worst;
}
int main(void)
{
    for (int i = 0; i < M; i++) for (int j = 0; j < M; j++) { phi[i][j] = (i * j) % 13; rho[i][j] = 0.25 * i; }
    printf("%.15g\n", residual());
    return 0;
}
