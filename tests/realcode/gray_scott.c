// device: react
#include <stdio.h>
#define G 32
static double u[G][G], v[G][G], u2[G][G], v2[G][G];
void react(double du, double dv, double f, double k)
{
    for (int i = 1; i < G - 1; i++) {
        for (int j = 1; j < G - 1; j++) {
            double lu = u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] - 4.0 * u[i][j];
            double lv = v[i - 1][j] + v[i + 1][j] + v[i][j - 1] + v[i][j + 1] - 4.0 * v[i][j];
            double uvv = u[i][j] * v[i][j] * v[i][j];
            u2[i][j] = u[i][j] + du * lu - uvv + f * (1.0 - u[i][j]);
            v2[i][j] = v[i][j] + dv * lv + uvv - (f + k) * v[i][j];
        }
    }
    for (int i = 1; i < G - 1; i++)
        for (int j = 1; j < G - 1; j++) {
            u[i][j] = u2[i][j];
            v[i][j] = v2[i][j];
        }
}
int main(void)
{
    for (int i = 0; i < G; i++) for (int j = 0; j < G; j++) { u[i][j] = 1; v[i][j] = (i > 12 && i < 20 && j > 12 && j < 20) ? 0.5 : 0; }
    for (int s = 0; s < 6; s++) react(0.16, 0.08, 0.06, 0.062);
    printf("%.12g %.12g\n", u[16][16], v[10][15]);
    return 0;
}
