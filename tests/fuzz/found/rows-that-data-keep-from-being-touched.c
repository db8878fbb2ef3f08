// flags: -O 1 --target emulator --device gtx285
// certificate
// How many rows of a are touched is counted before: 8 here, and what is read of row 4 * i otherwise was copied to it.
#include <stdio.h>
#include <stdlib.h>

static void f(int n, double out[restrict n], double a[][n + 8], const int at[])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        if (a[at[i] & 7][i] > 3)
            out[i] = a[4 * i][3];
        else
            out[i] = 1;
    }
#pragma endscop
}

int main(void)
{
    enum { n = 20 };
    double a[4 * n][n + 8], out[n];
    int at[n];
    for (int i = 0; i < 4 * n * (n + 8); i++)
        a[i / (n + 8)][i % (n + 8)] = i % 7 * 0.25;
    for (int i = 0; i < n; i++)
        at[i] = i * 3;
    f(n, out, a, at);
    for (int i = 0; i < n; i++)
        printf("%g\n", out[i]);
    return 0;
}
