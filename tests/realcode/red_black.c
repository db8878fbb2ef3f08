// device: relax
#include <stdio.h>
void relax(int n, double (*u)[n], const double (*f)[n], double w)
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1 + (i + pass) % 2; j < n - 1; j += 2)
                u[i][j] += w * 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] - f[i][j] - 4 * u[i][j]);
}
int main(void)
{
    static double u[25][25], f[25][25];
    for (int i = 0; i < 25; i++) for (int j = 0; j < 25; j++) { u[i][j] = i == 0; f[i][j] = 0.01 * j; }
    for (int s = 0; s < 4; s++) relax(25, u, (const double (*)[25])f, 1.5);
    for (int i = 0; i < 25; i += 3) printf("%.12g\n", u[i][i]);
    return 0;
}
