// device: backward
#include <stdio.h>
#include <math.h>
#define STEPS 50
static double backward(double s0, double strike, double u, double d, double p, double disc)
{
    double v[STEPS + 1];
    for (int i = 0; i <= STEPS; i++) {
        double s = s0 * pow(u, 2.0 * i - STEPS);
        v[i] = strike > s ? strike - s : 0.0;
    }
    for (int t = STEPS - 1; t >= 0; t--)
        for (int i = 0; i <= t; i++) {
            double hold = disc * (p * v[i + 1] + (1 - p) * v[i]);
            double s = s0 * pow(u, 2.0 * i - t);
            double exercise = strike - s;
            v[i] = hold > exercise ? hold : exercise;
        }
    return v[0];
}
int main(void)
{
    double dt = 1.0 / STEPS, u = exp(0.2 * sqrt(dt)), d = 1 / u;
    double p = (exp(0.05 * dt) - d) / (u - d);
    printf("%.6f\n", backward(100, 105, u, d, p, exp(-0.05 * dt)));
    return 0;
}
