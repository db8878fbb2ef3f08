// flags: -O 2 --target emulator --device 8800gtx
// certificate
// an element of 'A1' that the source touches is not copied; element A1[-10]; where i=-5
#include <stdio.h>

static void p0(int i, double A0[restrict 260], double *restrict A1)
{
    for (int j = 0; j < 65; j++)
        A1[j + 3] -= 0.125 * (A0[i + 5] > 0.5 ? 1.0 : A1[2 * i]);
}

int main(void)
{
    static double A0[260], A1[600];
    for (int t = 0; t < 600; t++) {
        A0[t % 260] = t % 2;
        A1[t] = t * 7 % 11;
    }
    for (int i = -5; i < 200; i += 5)
        p0(i, A0, A1 + 20);
    for (int t = 0; t < 600; t++)
        printf("%g\n", A1[t]);
    return 0;
}
