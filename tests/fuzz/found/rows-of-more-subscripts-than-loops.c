// flags: -O 2 --target emulator --device h100
// traceback
// IndexError: a version of an array had more loops than the statements whose order it takes
#include <stdio.h>

short A[44], B[16], C[43][43][1];

void f(void)
{
#pragma scop
    for (int i = 1; i < 11; i++) {
        for (int j = 1; j < 31; j++)
            A[j] += (B[i] & 63) & 15;
        for (int j = 1; j < 32; j++)
            A[i] = (B[i] & 63) + (C[j][i][0] & 31) + (A[i] & 15);
        C[0][i][0] ^= (B[0] & 63) + (B[i] & 31);
        for (int j = 1; j < 32; j++) {
            C[j][i][0] -= (A[i] & 63) + (C[i][j][0] & 31);
            B[i] += C[i][j][0] & 63;
        }
    }
#pragma endscop
}

int main(void)
{
    for (int t = 0; t < 44; t++)
        A[t] = t % 13 - 5;
    for (int t = 0; t < 16; t++)
        B[t] = t * 37 % 91;
    for (int t = 0; t < 43 * 43; t++)
        C[t / 43][t % 43][0] = t * 29 % 101;
    f();
    for (int t = 0; t < 44; t++)
        printf("%d\n", A[t]);
    for (int t = 0; t < 43 * 43; t++)
        printf("%d\n", C[t / 43][t % 43][0]);
    return 0;
}
