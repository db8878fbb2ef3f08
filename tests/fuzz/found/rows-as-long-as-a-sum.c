// flags: --target emulator --device 8800gtx
// refused: planes and rows of n + 1 elements were taken for others
#include <stdio.h>
#include <stdlib.h>

static void f(unsigned n, double a[restrict 10][10][n + 1], double *restrict b)
{
#pragma scop
    for (int t = 0; t < 4; t++) {
        for (int i = 9; i >= 1; i--)
            for (int j = 1; j < 9; j++)
                for (int k = 1; k < n; k++)
                    b[(i * 11 + j) * (n + 1) + k] = 0.125 * a[i][j + 1][k + 1] + 0.5 * a[i - 1][j][k];
        for (int i = 1; i < 9; i++)
            for (int j = 1; j < 10; j++)
                for (int k = 1; k < n; k++)
                    a[i][j - 1][k] = 0.125 * b[((i - 1) * 11 + j + 1) * (n + 1) + k - 1]
                                   + 0.25 * b[((i + 1) * 11 + j - 1) * (n + 1) + k + 1];
    }
#pragma endscop
}

int main(void)
{
    double *a = calloc(1600, sizeof *a);
    for (int t = 0; t < 1600; t++)
        a[t] = (t * 37 % 101) / 128.0f;
    double *b = calloc(1760, sizeof *b);
    for (int t = 0; t < 1760; t++)
        b[t] = (t * 37 % 101) / 128.0f;
    f(15, (void *)a, b);
    for (int t = 0; t < 1600; t++)
        printf("a[%d] %.17g\n", t, (double)a[t]);
    for (int t = 0; t < 1760; t++)
        printf("b[%d] %.17g\n", t, (double)b[t]);
    free(a);
    free(b);
    return 0;
}
