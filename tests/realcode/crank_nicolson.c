// device: solve_rows
#include <stdio.h>
#define M 24
#define N 30
void solve_rows(double u[M][N], double r)
{
    double cp[M][N], dp[M][N];
    for (int i = 0; i < M; i++) {
        cp[i][0] = -r / (1 + 2 * r);
        dp[i][0] = u[i][0] / (1 + 2 * r);
        for (int j = 1; j < N; j++) {
            double m = 1.0 / ((1 + 2 * r) + r * cp[i][j - 1]);
            cp[i][j] = -r * m;
            dp[i][j] = (u[i][j] + r * dp[i][j - 1]) * m;
        }
        u[i][N - 1] = dp[i][N - 1];
        for (int j = N - 2; j >= 0; j--)
            u[i][j] = dp[i][j] - cp[i][j] * u[i][j + 1];
    }
}
int main(void)
{
    static double u[M][N];
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            u[i][j] = (i + j) % 6;
    for (int t = 0; t < 3; t++)
        solve_rows(u, 0.3);
    printf("%.7f %.7f\n", u[3][4], u[23][29]);
    return 0;
}
