// flags: --target emulator --device h100
// certificate: values that only a local of a branch reads, which nothing uses, or a store that nothing reads
#include <stdio.h>

static void p0(int n, int A[restrict n + 1][1], float B[restrict n + 1])
{
#pragma scop
    for (int k = 1; k < n; k++) {
        float t1 = 0.5f * k;
        if (0 > A[0][0]) {
            int t2 = t1;
            A[k][0] = 0;
        }
    }
    for (int i = 1; i < n; i++) {
        float t1 = 2 * i;
        float t3 = 0;
        if (B[i] > 2) {
            float t2 = t1;
            t3 = t2;
            B[i] = i;
        }
    }
#pragma endscop
}

int main(void)
{
    static int A[41][1];
    static float B[41];
    for (int i = 0; i < 41; i++)
        A[i][0] = i - 3, B[i] = i % 5;
    p0(40, A, B);
    unsigned sum = 0;
    for (int i = 0; i < 41; i++)
        sum = 3 * sum + A[i][0] + (int)B[i];
    printf("%u\n", sum);
    return 0;
}
