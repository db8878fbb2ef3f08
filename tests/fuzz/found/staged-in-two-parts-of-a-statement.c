// flags: -O 2 --target emulator --device gtx285
// traceback
// KeyError, of the loop over tiles of the first part
#include <stdio.h>

void f(long n, long m, long *restrict A, int B[2 * n + 2])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        B[i + 2] = 0;
        for (int j = n - 1; j >= -1; j--)
            B[i + 2] += 15 & (((B[i + 2] & 511) - 20) / 3);
    }
    for (int i = 0; i < m + 2; i++) {
        A[i + 1] = 1;
        for (int j = 1; j < n; j++)
            A[i + 1] += 15 & ((A[-i + m + 1] & 255) < (B[2 * j] & 255) ? (A[-i + m + 1] & 255) : (B[2 * j] & 255));
    }
#pragma endscop
}

static long a[100];
static int b[200];

int main(void)
{
    int sizes[] = { 0, 1, 2, 7, 33, 64 };
    for (int k = 0; k < 6; k++)
        for (int l = 0; l < 6; l++) {
            int n = sizes[k], m = sizes[l];
            for (int t = 0; t < m + 3; t++)
                a[t] = t * 37 % 300;
            for (int t = 0; t < 2 * n + 2; t++)
                b[t] = t * 53 % 300;
            f(n, m, a, b);
            for (int t = 0; t < m + 3; t++)
                printf("%ld\n", a[t]);
        }
    return 0;
}
