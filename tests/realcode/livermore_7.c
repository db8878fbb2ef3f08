// device: kernel7
#include <stdio.h>
double x[120], y[120], z[120], u[130];
void kernel7(int n, double q, double r, double t)
{
    int k;
    for (k = 0; k < n; k++)
        x[k] = u[k] + r * (z[k] + r * y[k]) + t * (u[k + 3] + r * (u[k + 2] + r * u[k + 1]) + t * (u[k + 6] + q * (u[k + 5] + q * u[k + 4])));
}
int main(void)
{
    for (int i = 0; i < 120; i++) { y[i] = i % 3; z[i] = i % 4; }
    for (int i = 0; i < 130; i++) u[i] = i % 5;
    kernel7(120, 0.5, 0.25, 0.125);
    for (int i = 0; i < 120; i += 13) printf("%.10g\n", x[i]);
    return 0;
}
