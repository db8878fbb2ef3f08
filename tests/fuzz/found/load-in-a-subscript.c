// flags: --target emulator --device gtx285
// build: what the subscript loads was used out of its scope
#include <stdio.h>

static void p0(int n, int A[restrict n], int B[restrict 8], int C[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        if (i > 2)
            if (4 < B[A[3] & 7] && B[A[3] & 7] != 9)
                C[i] += A[i];
#pragma endscop
}

int main(void)
{
    int A[50], B[8], C[50];
    for (int i = 0; i < 50; i++)
        A[i] = 7 * i, B[i % 8] = 3 + i % 8, C[i] = i;
    p0(50, A, B, C);
    for (int i = 0; i < 50; i++)
        printf("%d\n", C[i]);
    return 0;
}
