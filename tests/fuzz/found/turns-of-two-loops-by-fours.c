// flags: -O 2 --target emulator --device gtx285
// slow
// certificate
// isl's `gist` lost what tells floors that have no definition apart, and with it the last write of a register
// in the first of two loops that are unrolled by four: values that nobody computed were said to be read.

#include <stdio.h>

static void f(int n, int m, unsigned long a[restrict 111][205], float b[restrict 79][159], float c[restrict 79][159])
{
#pragma scop
    for (int i = m - 1; i >= 1; i--)
        for (int j = 2; j < n - i; j++) {
            if (j == i)
                b[j][i + 2] = 0.5f * c[i + 2][3] + 0.25f * a[2 * j + 1][i];
            else
                a[0][j] = ((a[0][j] & 4095) + (a[2 * j + 1][-j + n - 1] & 63)) << 2;
        }
#pragma endscop
}

int main(void)
{
    static unsigned long a[111][205];
    static float b[79][159], c[79][159];
    for (int i = 0; i < 111; i++)
        for (int j = 0; j < 205; j++)
            a[i][j] = i * 7 + j;
    for (int i = 0; i < 79; i++)
        for (int j = 0; j < 159; j++)
            c[i][j] = i + 0.5f * j;
    for (int n = 1; n < 50; n += 9) {
        f(n, n - n / 3, a, b, c);
        unsigned long sum = 0;
        for (int i = 0; i < 79; i++)
            for (int j = 0; j < 159; j++)
                sum = sum * 31 + a[i][j] + (unsigned long)(4 * b[i][j]);
        printf("%lu\n", sum);
    }
    return 0;
}
