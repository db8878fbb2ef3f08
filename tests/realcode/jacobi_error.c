// device: relax relax_max
#include <math.h>
#include <stdio.h>
#define N 40
static double u[N][N], next[N][N];
static double relax(void)
{
    double error = 0.0;
    for (int j = 1; j < N - 1; j++)
        for (int i = 1; i < N - 1; i++) {
            next[j][i] = 0.25 * (u[j][i + 1] + u[j][i - 1] + u[j - 1][i] + u[j + 1][i]);
            error = fmax(error, fabs(next[j][i] - u[j][i]));
        }
    return error;
}
#define MAX(a, b) ((a) > (b) ? (a) : (b))
static double relax_max(void)
{
    double error = 0.0;
    for (int j = 1; j < N - 1; j++)
        for (int i = 1; i < N - 1; i++) {
            u[j][i] = 0.25 * (next[j][i + 1] + next[j][i - 1] + next[j - 1][i] + next[j + 1][i]);
            error = MAX(error, fabs(u[j][i] - next[j][i]));
        }
    return error;
}
int main(void)
{
    for (int j = 0; j < N; j++) u[j][0] = next[j][0] = 1.0 + j * 0.125;
    for (int t = 0; t < 10; t++) {
        double first = relax(), second = relax_max();
        printf("%.17g %.17g\n", first, second);
    }
    return 0;
}
