// flags: --target opencl
// 23 s on a CPU: a sum over constant rows of structures, beside nests of two iterations
#include <stdio.h>
#include <stdlib.h>

static float a[31][17];
struct pair { unsigned long x; int k; };
static unsigned long line[42];

static void f(long n, unsigned m, unsigned p, struct pair *restrict b, unsigned long c[restrict p + 2][57])
{
#pragma scop
    for (int i = 0; i <= n - 1; i += 3)
        for (int j = m - 1; j >= 0; j -= 2)
            for (int k = 0; k < 29; k++)
                a[i][j] = 0.5f * a[i][j] + 0.5f * b[i * 29 + k].x + 0.5f * c[j][2 * k];
    for (int i = 1; i <= p - 1; i += 3)
        line[i + 28] = line[i];
#pragma endscop
}

static void g(double *out)
{
    static struct pair b[31 * 29];
    static unsigned long c[17][57];
    for (int t = 0; t < 31 * 29; t++)
        b[t].x = t % 19;
    for (int t = 0; t < 17 * 57; t++)
        c[t / 57][t % 57] = t % 23;
    for (int t = 0; t < 42; t++)
        line[t] = t;
    f(31, 17, 14, b, c);
    for (int t = 0; t < 31; t++)
        out[t] = a[t][t % 17] + line[t + 11];
}

int main(void)
{
    double *out = calloc(31, sizeof *out);
    for (int t = 0; t < 31; t++)
        out[t] = 0;
    g(out);
    for (int t = 0; t < 31; t++)
        printf("out[%d] %.17g\n", t, (double)out[t]);
    free(out);
    return 0;
}
