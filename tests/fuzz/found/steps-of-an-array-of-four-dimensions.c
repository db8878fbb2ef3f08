// flags: -O 1 --target emulator --device h100
// crash
// A block was to have a dimension for each subscript of what a step writes, of which there are four here.

#include <stdio.h>
#include <stdlib.h>

static void f(int n, int m, int l, double (*restrict x)[m][l + 1][5], double (*restrict a)[m][l][5][5])
{
    for (int k = 0; k < n; k++)
        for (int j = 0; j < m; j++)
            for (int i = l - 1; i >= 0; i--)
                for (int c = 0; c < 5; c++)
                    for (int d = 0; d < 5; d++)
                        x[k][j][i][c] -= a[k][j][i][d][c] * x[k][j][i + 1][d];
}

int main(void)
{
    for (int n = 1; n < 20; n += 6) {
        int m = n + 2, l = n + 1, sum = 0;
        double *x = malloc(n * m * (l + 1) * 5 * sizeof *x), *a = malloc(n * m * l * 25 * sizeof *a);
        for (int k = 0; k < n * m * (l + 1) * 5; k++)
            x[k] = k % 3;
        for (int k = 0; k < n * m * l * 25; k++)
            a[k] = k % 7 ? 0 : k % 5 - 2;
        f(n, m, l, (void *)x, (void *)a);
        for (int k = 0; k < n * m * (l + 1) * 5; k++)
            sum = (sum * 31 + (int)x[k]) % 10007;
        printf("%d\n", sum);
        free(x);
        free(a);
    }
    return 0;
}
