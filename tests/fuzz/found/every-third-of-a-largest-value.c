// flags: -O 1 --target emulator --device generic --proof 0.5
// slow
// budget
// no certificate after 30 s, where it has 2.0 s
#include <stdio.h>

static float larger(const float *p, float v, int i)
{
    if (i % 3 == 1)
        return (*p);
    float j = (*p);
    if (v > j)
        j = v;
    return j;
}

static void p0(unsigned long n, unsigned long m, float *restrict A)
{
    for (int i = 0; i < m + 2; i++) {
        A[2 * i] = 0;
        for (int j = 0; j < n; j++)
            A[2 * i] = larger(&A[2 * i], 0.5f * A[2 * i] + 0.25f * A[j + 1], j);
    }
}

int main(void)
{
    static float A[200];
    for (int t = 0; t < 200; t++)
        A[t] = t * 37 % 101;
    p0(0, 3, A);
    p0(50, 33, A);
    for (int t = 0; t < 200; t++)
        printf("%g\n", A[t]);
    return 0;
}
