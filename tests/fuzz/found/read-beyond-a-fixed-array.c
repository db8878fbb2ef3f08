// flags: --target emulator --device h100
// slow
// certificate: a load that only undefined programs need has its address clamped
#include <stdio.h>

static float A[130], B[256];

static void p0(int m, float C[restrict m + 2])
{
#pragma scop
    for (int i = m - 1; i > 1; i -= 2)
        C[i] = C[i + 2] > 0.5f ? B[i + 1] : A[-i + m + 1];
#pragma endscop
}

int main(void)
{
    float C[102];
    for (int i = 0; i < 256; i++)
        A[i % 130] = i, B[i] = i % 3, C[i % 102] = i % 2;
    p0(100, C);
    for (int i = 0; i < 100; i++)
        printf("%g\n", C[i]);
    return 0;
}
