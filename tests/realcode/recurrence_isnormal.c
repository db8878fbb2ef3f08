// device: eliminate
#include <stdio.h>
#include <math.h>
void eliminate(int systems, int n, double *x, const double *y, const double *z)
{
    for (int s = 0; s < systems; s++)
        for (int i = 1; i < n; i++) {
            x[s * n + i] = z[s * n + i] * (y[s * n + i] - x[s * n + i - 1]);
            if (!isnormal(x[s * n + i]))
                x[s * n + i] = y[s * n + i];
        }
}
int main(void)
{
    static double x[60], y[60], z[60];
    for (int i = 0; i < 60; i++) {
        x[i] = i;
        y[i] = (i * 7) % 5;
        z[i] = i % 4 == 3 ? 1e308 : 0.5;
    }
    eliminate(4, 15, x, y, z);
    printf("%g %g\n", x[14], x[59]);
    return 0;
}
