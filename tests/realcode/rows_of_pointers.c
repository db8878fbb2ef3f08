// device: scale
#include <stdio.h>
#include <stdlib.h>
void scale(double **a, int n, int m, double k)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            a[i][j] *= k;
}
int main(void)
{
    double **a = malloc(15 * sizeof *a);
    for (int i = 0; i < 15; i++) { a[i] = malloc(20 * sizeof **a); for (int j = 0; j < 20; j++) a[i][j] = i * j; }
    scale(a, 15, 20, 0.5);
    double s = 0;
    for (int i = 0; i < 15; i++) for (int j = 0; j < 20; j++) s += a[i][j] * (i + 1);
    printf("%.10g\n", s);
    return 0;
}
