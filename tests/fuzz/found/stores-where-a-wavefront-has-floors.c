// flags: --target emulator --device h100 -O 2 --proof 0.6
// slow
// no certificate after 30 s: which executions are instances was told from sets that both had the kernel's own
#include <stdio.h>

static double a[37][38];

static void set(double *p, double v, int j)
{
    if (j <= 4)
        p[0] = v;
    if (v > 9)
        p[0] = j;
}

static void f(int n, double a[restrict 2 * n + 1][2 * n + 2])
{
#pragma scop
    for (int i = n - 1; i >= 0; i--)
        for (int j = n - 1; j > -1; j--) {
            set(&a[j + i][j - i + n], 0, j);
            for (int k = -1; k <= n - j - 1; k++)
                a[j + i][j - i + n] += 0.125 * (0.5 * a[i][1] + 0.25 * a[2 * i][i]);
        }
#pragma endscop
}

int main(void)
{
    for (int i = 0; i < 37; i++)
        for (int j = 0; j < 38; j++)
            a[i][j] = (i * 37 + j) % 101 / 128.0;
    f(18, a);
    for (int i = 0; i < 37; i++)
        for (int j = 0; j < 38; j++)
            printf("%d %d %.17g\n", i, j, a[i][j]);
    return 0;
}
