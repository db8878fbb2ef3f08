// device: cov
#include <stdio.h>
#include <stdlib.h>
void cov(int n, int m, double *data, double *mean, double *c)
{
    for (int j = 0; j < m; j++) {
        mean[j] = 0;
        for (int i = 0; i < n; i++) mean[j] += data[i * m + j];
        mean[j] /= n;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            data[i * m + j] -= mean[j];
    for (int a = 0; a < m; a++)
        for (int b = a; b < m; b++) {
            double s = 0;
            for (int i = 0; i < n; i++) s += data[i * m + a] * data[i * m + b];
            c[a * m + b] = c[b * m + a] = s / (n - 1);
        }
}
int main(void)
{
    double *d = malloc(40 * 9 * 8), mean[9], c[81];
    for (int i = 0; i < 360; i++) d[i] = (i * 13) % 17;
    cov(40, 9, d, mean, c);
    for (int i = 0; i < 81; i += 10) printf("%.10g\n", c[i]);
    return 0;
}
