// flags: -O 2 --target emulator --device h100 --assume n=128
// certificate
// an access outside of global array 'A1'; element A1[128]; where m=-35
#include <stdio.h>

static float p0(int n, int m, float A0[n + 22], int A1[restrict n + 2 * m + 7])
{
    float s0 = 1;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++)
            A0[j + 1] -= 0.125f * (s0 < A1[(-j + n) % (n + 1)] ? s0 : 0.5f * A1[(-j + n) % (n + 1)]);
    }
    for (int i = 2; i < 11; i++) {
        for (int j = 0; j < m; j++)
            A0[0] = 0.25f * A1[2 * j + 1] * s0;
        if ((i + n) % 2 == 0)
            A0[2 * i + 1] += 0.5f * A0[2 * i + 1];
    }
    return s0;
}

int main(void)
{
    static float A0[150];
    static int A1[300];
    for (int t = 0; t < 300; t++)
        A1[t] = t * 7 % 11;
    for (int m = 0; m < 80; m += 13)
        printf("%g\n", p0(128, m, A0, A1));
    for (int t = 0; t < 150; t++)
        printf("%g\n", A0[t]);
    return 0;
}
