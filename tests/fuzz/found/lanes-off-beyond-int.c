// flags: -O 1 --target emulator --device h100
// crash
// runtime error: signed integer overflow: 23127 * 100000 cannot be represented in type 'int'
#include <stdio.h>

static int A[2100], B[2100], C[2100], P[64];

int main(void)
{
    for (int t = 0; t < 2100; t++) {
        A[t] = t * 37 % 2111 * 1000;
        P[t % 64] = t;
    }
#pragma scop
    for (int i = 0; i < 2100; i++)
        B[i] = i * 1000000;
    for (int i = 0; i < 2100; i++) {
        int t = A[i] + 1;
        for (int k = 0; k < 3; k++)
            t = t / 2 + k;
        if (t < 20000)
            C[i] = P[t * 100000 & 63] - t * 100000;
    }
#pragma endscop
    for (int t = 0; t < 2100; t++)
        printf("%d %d\n", B[t], C[t]);
    return 0;
}
