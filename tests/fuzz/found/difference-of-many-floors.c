// flags: -O 1 --target emulator --device generic --proof 0.5
// budget
// no certificate after 30 s, where it has 2.0 s
#include <stdio.h>

static float larger(const float *p, float v, int i)
{
    return p[0] > v ? p[0] : v;
}

static void p0(unsigned int n, unsigned int m, unsigned int w1, unsigned int w2, float *restrict A0,
               int A1[restrict m + 3][m + 2])
{
    float s1 = 1;
    for (int i = m + 1; i >= 0; i--) {
        for (int j = 1; j < m + 2; j++) {
            s1 = A0[((j) * w1 + 2 * j + 1) * w2 + j];
            for (int k = 1; k <= j; k++)
                A0[((-i + m + 1) * w1 + k - 1) * w2 + i] = larger(&A0[((-i + m + 1) * w1 + k - 1) * w2 + i],
                    A1[k - 1][j - 1] - A0[((j - 1) * w1 + i + 2) * w2 + 1], k);
        }
        A1[i + 1][i] += ((A1[1][0] & 511) == (A1[i][i] & 63)) & 15;
    }
}

int main(void)
{
    enum { m = 5, w1 = 2 * m + 6, w2 = m + 4 };
    static float A0[(m + 3) * w1 * w2];
    static int A1[m + 3][m + 2];
    for (int t = 0; t < (m + 3) * w1 * w2; t++)
        A0[t] = t * 37 % 101;
    p0(7, m, w1, w2, A0, A1);
    for (int t = 0; t < (m + 3) * w1 * w2; t++)
        printf("%g\n", A0[t]);
    for (int t = 0; t < (m + 3) * (m + 2); t++)
        printf("%d\n", A1[t / (m + 2)][t % (m + 2)]);
    return 0;
}
