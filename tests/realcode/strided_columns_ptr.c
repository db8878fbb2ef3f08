// device: column_sums scale_column
#include <stdio.h>
#include <stdlib.h>
void column_sums(double **a, int n, int m, double *sum)
{
    for (int j = 0; j < m; j++) {
        sum[j] = 0;
        for (int i = 0; i < n; i++)
            sum[j] += a[i][j];
    }
}
void scale_column(double *const *a, int n, int j, double f)
{
    for (int i = 0; i < n; i++)
        a[i][j] *= f;
}
int main(void)
{
    int n = 13, m = 6;
    double **a = malloc(n * sizeof *a), s[6];
    for (int i = 0; i < n; i++) {
        a[i] = malloc(m * sizeof **a);
        for (int j = 0; j < m; j++) a[i][j] = i + 10 * j;
    }
    scale_column(a, n, 2, 0.5);
    column_sums(a, n, m, s);
    for (int j = 0; j < m; j++) printf("%g ", s[j]);
    putchar('\n');
    return 0;
}
