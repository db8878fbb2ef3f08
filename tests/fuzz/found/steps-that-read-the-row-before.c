// flags: -O 2 --target emulator --device generic
// check
// certificate: two threads touch a shared element with no barrier in between
#include <stdio.h>

float A[20], B[40][40];

void f(void)
{
#pragma scop
    for (int i = 1; i < 18; i++) {
        A[0] += 0.5f * B[i][0] + 0.25f * A[0] + 0.125f * A[0];
        for (int j = 1; j < 16; j++)
            A[i] += 0.0625f * (0.5f * A[j - 1]);
        for (int j = 1; j < 16; j++)
            A[i - 1] -= 0.125f * (0.5f * B[j + 1][i]);
    }
#pragma endscop
}

int main(void)
{
    for (int t = 0; t < 20; t++)
        A[t] = t % 13 * 0.25f;
    for (int t = 0; t < 1600; t++)
        B[t / 40][t % 40] = t % 17 * 0.125f;
    f();
    for (int t = 0; t < 20; t++)
        printf("%a\n", A[t]);
    return 0;
}
