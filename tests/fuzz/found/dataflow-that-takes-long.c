// flags: --target emulator --device h100
// compiled for 20 s: the time budget did not end the analysis of dataflow
#include <stdio.h>
#include <stdlib.h>

struct cell { double x; int k; };
static double sums[8];

static void f(int n, int m, int p, int q, struct cell *restrict a, unsigned short b[restrict n][q][q + 1],
              double c[restrict][3])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = m - 1; j >= 0; j--)
            for (int k = 0; k < p; k++)
                for (int l = 0; l < n; l += 2)
                    a[i * (q + 1) + k].x += b[k][l][i] * a[j * (q + 1) + l].x;
    for (int i = p - 1; i >= 0; i -= 2)
        for (int j = q - 1; j >= i + 1; j--)
            sums[i] += c[i][j % 3] * sums[j + 1];
#pragma endscop
}

static void g(double *out)
{
    struct cell a[32] = {{1, 2}, {3, 4}};
    unsigned short b[3][4][5] = {{{1, 2}}, {{3}}};
    double c[4][3] = {{1, 2, 3}, {4}};
    for (int t = 0; t < 8; t++)
        sums[t] = t;
    f(3, 3, 3, 4, a, b, c);
    for (int t = 0; t < 8; t++)
        out[t] = sums[t] + a[t].x;
}

int main(void)
{
    double *out = calloc(8, sizeof *out);
    for (int t = 0; t < 8; t++)
        out[t] = 0;
    g(out);
    for (int t = 0; t < 8; t++)
        printf("out[%d] %.17g\n", t, (double)out[t]);
    free(out);
    return 0;
}
