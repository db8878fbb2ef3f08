// device: forces
#include <stdio.h>
#define NP 80
double pos[NP][3], frc[NP][3];
void forces(double cut2)
{
    int i, j, k;
    for (i = 0; i < NP; i++) {
        double f[3] = {0, 0, 0};
        for (j = 0; j < NP; j++) {
            double d[3], r2 = 0, s;
            if (j == i) continue;
            for (k = 0; k < 3; k++) { d[k] = pos[i][k] - pos[j][k]; r2 += d[k] * d[k]; }
            if (r2 >= cut2) continue;
            s = 1 / (r2 * r2 * r2);
            s = 24 * s * (2 * s - 1) / r2;
            for (k = 0; k < 3; k++) f[k] += s * d[k];
        }
        for (k = 0; k < 3; k++) frc[i][k] = f[k];
    }
}
int main(void)
{
    for (int i = 0; i < NP; i++) { pos[i][0] = i % 5; pos[i][1] = i / 5 % 4; pos[i][2] = i / 20; }
    forces(4.0);
    for (int i = 0; i < NP; i += 7) printf("%.10g %.10g %.10g\n", frc[i][0], frc[i][1], frc[i][2]);
    return 0;
}
