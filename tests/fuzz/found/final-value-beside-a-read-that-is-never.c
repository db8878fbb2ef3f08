// flags: -O 1 --target emulator --device h100
// certificate
// a later kernel has a read of s that no iteration does: what keeps the final value of s was placed before it
#include <stdio.h>

static float a[22][21];
static double b[14][31];

static int last(void)
{
    char s = 1;
#pragma scop
    a[2][0] -= 0.125f * b[2][0];
    for (int i = 0; i <= 9; i++) {
        for (int j = 1; j < 2; j += 2) {
            if (j + 2 < (s & 1023)) {
                if (i >= 30)
                    b[9 - i][j + i - 1] = 0.5 + 0.25 * s;
                else
                    a[2 * i][j] -= 0.125f * (2 * s);
            }
            s = (s & 4095) + (j + 2);
        }
        if ((i + 3) % 2 == 0)
            s ^= (s & 511) > 30 ? i + 2 : 5;
    }
#pragma endscop
    return s;
}

int main(void)
{
    for (int i = 0; i < 14; i++)
        for (int j = 0; j < 21; j++) {
            a[i][j] = (i * 21 + j) * 37 % 101;
            b[i][j] = (i * 21 + j) * 53 % 97;
        }
    printf("%d\n", last());
    for (int i = 0; i < 22; i++)
        printf("%g %g\n", a[i][0], a[i][1]);
    return 0;
}
