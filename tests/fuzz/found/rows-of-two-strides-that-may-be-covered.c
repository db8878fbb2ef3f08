// flags: -O 1 --target emulator --device 8800gtx
// hang
// no end of finding out whether the writes reach all elements that are copied
#include <stdio.h>

static void p0(int n, unsigned char *restrict A2, double *restrict A3)
{
    for (int i = n - 1; i > -1; i--) {
        for (int j = (i + 3 < 6 ? i + 3 : 6); j >= i; j--) {
            A2[(i + 1) * 19 + j] = i + j;
            for (int k = n - j - 1; k >= j + 1; k--)
                A3[((i + 1) * 33 + 2 * k + 1) * 37 + 2 * j] = 0.5 * (i + 2);
        }
    }
}

int main(void)
{
    static unsigned char A2[400];
    static double A3[24000];
    for (int n = 0; n < 17; n++)
        p0(n, A2, A3);
    double sum = 0;
    for (int t = 0; t < 24000; t++)
        sum = 0.5 * sum + A3[t] + (t < 400 ? A2[t] : 0);
    printf("%.17g\n", sum);
    return 0;
}
