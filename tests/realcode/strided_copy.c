// device: gather_column
#include <stdio.h>
void gather_column(int n, int inc, const double *restrict a, double *restrict col)
{
    int i, k = 0;
    for (i = 0; i < n; i++) {
        col[i] = a[k];
        k += inc;
    }
}
int main(void)
{
    static double a[20 * 13], c[20];
    for (int i = 0; i < 260; i++) a[i] = i;
    gather_column(20, 13, a, c);
    for (int i = 0; i < 20; i++) printf("%g ", c[i]);
    printf("\n");
    return 0;
}
