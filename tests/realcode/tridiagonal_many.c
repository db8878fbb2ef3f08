// device: solve
#include <stdio.h>
void solve(int systems, int n, double a[n][systems], double b[n][systems], double c[n][systems], double d[n][systems])
{
    for (int s = 0; s < systems; s++) {
        for (int i = 1; i < n; i++) {
            double w = a[i][s] / b[i - 1][s];
            b[i][s] -= w * c[i - 1][s];
            d[i][s] -= w * d[i - 1][s];
        }
        d[n - 1][s] /= b[n - 1][s];
        for (int i = n - 2; i >= 0; i--)
            d[i][s] = (d[i][s] - c[i][s] * d[i + 1][s]) / b[i][s];
    }
}
int main(void)
{
    static double a[12][40], b[12][40], c[12][40], d[12][40];
    for (int i = 0; i < 12; i++) for (int s = 0; s < 40; s++) { a[i][s] = c[i][s] = -1; b[i][s] = 4; d[i][s] = i + s; }
    solve(40, 12, a, b, c, d);
    for (int s = 0; s < 40; s += 6) printf("%.12g %.12g\n", d[0][s], d[11][s]);
    return 0;
}
