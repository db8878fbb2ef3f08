// flags: --target emulator --device gtx285
// build: a test of all lanes was written for each of them
#include <stdio.h>

static int mix(int a, int b) { int t = a ^ b; if (t > 40) t = t / 3; return t + 1; }

static void p0(int n, int A[restrict n], int B[restrict 64])
{
#pragma scop
    for (int i = 1; i < n; i++) {
        if (2 <= mix(8, i))
            A[i] = A[i - 1] + B[mix(i, 5) & 63];
    }
#pragma endscop
}

int main(void)
{
    int A[50], B[64];
    for (int i = 0; i < 64; i++)
        A[i % 50] = 7 * i, B[i] = i % 8;
    p0(50, A, B);
    for (int i = 0; i < 50; i++)
        printf("%d\n", A[i]);
    return 0;
}
