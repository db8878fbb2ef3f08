// device: hydro
#include <stdio.h>
#define JN 20
#define KN 7
double za[KN][JN], zb[KN][JN], zm[KN][JN], zp[KN][JN], zq[KN][JN], zr[KN][JN], zu[KN][JN], zv[KN][JN], zz[KN][JN];
void hydro(void)
{
    double t = 0.0037, s = 0.0041;
    int j, k, kn = 6, jn = JN;
    for (k = 1; k < kn; k++)
        for (j = 1; j < jn - 1; j++) {
            za[k][j] = (zp[k + 1][j - 1] + zq[k + 1][j - 1] - zp[k][j - 1] - zq[k][j - 1]) * (zr[k][j] + zr[k][j - 1]) / (zm[k][j - 1] + zm[k + 1][j - 1]);
            zb[k][j] = (zp[k][j - 1] + zq[k][j - 1] - zp[k][j] - zq[k][j]) * (zr[k][j] + zr[k - 1][j]) / (zm[k][j] + zm[k][j - 1]);
        }
    for (k = 1; k < kn; k++)
        for (j = 1; j < jn - 1; j++) {
            zu[k][j] += s * (za[k][j] * (zz[k][j] - zz[k][j + 1]) - za[k][j - 1] * (zz[k][j] - zz[k][j - 1]) - zb[k][j] * (zz[k][j] - zz[k - 1][j]));
            zv[k][j] += t * zu[k][j];
        }
}
int main(void)
{
    for (int k = 0; k < KN; k++) for (int j = 0; j < JN; j++) { zp[k][j] = k + j; zq[k][j] = k * j; zr[k][j] = 1 + j % 3; zm[k][j] = 2 + k; zz[k][j] = j % 5; }
    hydro();
    for (int k = 1; k < 6; k++) printf("%.12g %.12g\n", zu[k][5], zv[k][17]);
    return 0;
}
