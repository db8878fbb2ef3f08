// device: sma ema
#include <stdio.h>
void sma(const double *px, int n, int w, double *out)
{
    for (int i = w - 1; i < n; i++) {
        double s = 0;
        for (int j = i - w + 1; j <= i; j++)
            s += px[j];
        out[i] = s / w;
    }
}
void ema(const double *px, int n, int series, double alpha, double *out)
{
    for (int k = 0; k < series; k++) {
        double e = px[k * n];
        for (int i = 0; i < n; i++) {
            e = alpha * px[k * n + i] + (1 - alpha) * e;
            out[k * n + i] = e;
        }
    }
}
int main(void)
{
    static double px[4 * 100], out[4 * 100];
    for (int i = 0; i < 400; i++)
        px[i] = 100 + (i * 31 % 47) * 0.1;
    sma(px, 100, 12, out);
    printf("%.5f %.5f\n", out[11], out[99]);
    ema(px, 100, 4, 0.125, out);
    printf("%.5f %.5f\n", out[99], out[399]);
    return 0;
}
