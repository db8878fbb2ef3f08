// device: filter
#include <stdio.h>
#define TAPS 9
static const double h[TAPS] = {0.02, 0.05, 0.12, 0.19, 0.24, 0.19, 0.12, 0.05, 0.02};
void filter(const double *in, double *out, int n)
{
    for (int i = 0; i < n; i++) {
        double acc = 0.0;
        const double *px = in + i, *ph = h;
        int k = TAPS;
        while (k--)
            acc += *ph++ * *px++;
        out[i] = acc;
    }
}
int main(void)
{
    double x[80 + TAPS], y[80];
    for (int i = 0; i < 80 + TAPS; i++)
        x[i] = ((i * 13) % 17) - 8;
    filter(x, y, 80);
    for (int i = 0; i < 80; i += 20)
        printf("%.4f\n", y[i]);
    return 0;
}
