// flags: -O 2 --target emulator --device h100
// slow
// check
// A grid had a block more than its tile of steps has points, which copied what the other block stores.

#include <stdio.h>
#include <stdlib.h>

static int mix(int a, int b)
{
    int t = a ^ b;
    if (t > 40)
        t = t / 3;
    return t + 1;
}

static void f(int n, int m, double A[restrict m + 1][m + 2], int w, const unsigned char b[restrict 3 * m + 3][w], int v,
              unsigned long c[restrict 4 * m + 1][v])
{
#pragma scop
    for (int i = m - 1; i >= 0; i--)
        for (int j = n - i; j < i; j++)
            for (int k = -1; k <= i; k++) {
                A[i][i + 2] = c[j + m - 1][k + 2] > 0.5 ? b[j + k + m][k - j + m - 1] : (j + 2);
                c[2 * k + 2][2 * j + 2 * m - 1] = mix(c[2 * j + 2 * m + 2][i + j + m - 1] & 511, c[j + m - 1][2 * i] & 63);
            }
#pragma endscop
}

int main(void)
{
    int n = 16, m = 16, w = 3 * m + 1, v = 4 * m + 2;
    double *A = malloc((m + 1) * (m + 2) * sizeof *A), sum = 0;
    unsigned char *b = malloc((3 * m + 3) * w);
    unsigned long *c = malloc((4 * m + 1) * v * sizeof *c), all = 0;
    for (int i = 0; i < (m + 1) * (m + 2); i++)
        A[i] = i % 17 / 8.0;
    for (int i = 0; i < (3 * m + 3) * w; i++)
        b[i] = i % 251;
    for (int i = 0; i < (4 * m + 1) * v; i++)
        c[i] = i % 13;
    f(n, m, (void *)A, w, (void *)b, v, (void *)c);
    for (int i = 0; i < (m + 1) * (m + 2); i++)
        sum = sum * 0.99 + A[i];
    for (int i = 0; i < (4 * m + 1) * v; i++)
        all = all * 31 + c[i];
    printf("%a %lu\n", sum, all);
    free(A);
    free(b);
    free(c);
    return 0;
}
