// flags: -O 1 --target emulator --device h100
// slow
// differs
// two loops named k, one in the other: the outer one's is k in one statement and 3 in the other
#include <stdio.h>
static void p0(long m, double A0[restrict m + 10][2 * m + 16])
{
    for (int i = m + 1; i >= -1; i--) {
        A0[i + 3][2 * i + 3] = 0.5;
        for (int j = 1; j < 5; j++)
            for (int k = 1; k < m; k++)
                for (int l = j; l < m; l++)
                    A0[i - j + 5][2 * j + 1] += 0.5 * A0[k - 1][j - 1];
    }
}
int main(void)
{
    static double A[20 * 60];
    for (long m = 0; m < 10; m++) {
        for (int t = 0; t < 1200; t++)
            A[t] = t * 37 % 101;
        p0(m, (void *)A);
        for (int t = 0; t < 1200; t++)
            printf("%ld %d %g\n", m, t, A[t]);
    }
    return 0;
}
