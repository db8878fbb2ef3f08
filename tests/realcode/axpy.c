// device: axpy
#include <stdio.h>
#include <stdlib.h>
void axpy(int n, double alpha, const double *x, double *y)
{
    for (int i = 0; i < n; i++)
        y[i] += alpha * x[i];
}
int main(void)
{
    int n = 1000;
    double *x = malloc(n * sizeof(double)), *y = malloc(n * sizeof(double)), sum = 0;
    for (int i = 0; i < n; i++) { x[i] = i * 0.5; y[i] = n - i; }
    axpy(n, 2.5, x, y);
    for (int i = 0; i < n; i++) sum += y[i];
    printf("%.10g\n", sum);
    free(x); free(y);
    return 0;
}
