// flags: -O 2 --target emulator --device generic
// certificate
// points beyond the nest ran a statement there as well: the tile holds what they would read by the source's
// subscripts, but an iterator was a difference of two others in the code, which is the same in the nest only
#include <stdio.h>

static float a[26][50];

static void rows(void)
{
#pragma scop
    for (int i = 0; i < 17; i++) {
        if (i <= 1)
            a[1][i] = 0;
        for (int j = 2; j < 16; j++)
            for (int k = i; k <= 6; k++)
                a[16 - j][2 * i + 1] += a[k][i];
    }
#pragma endscop
}

int main(void)
{
    for (int i = 0; i < 26; i++)
        for (int j = 0; j < 50; j++)
            a[i][j] = (i * 50 + j) * 37 % 101;
    rows();
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 35; j++)
            printf("%g\n", a[i][j]);
    return 0;
}
