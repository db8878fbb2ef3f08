// flags: -O 1 --target emulator --device h100 --proof 0.3
// check
// error: race between blocks: write of 'A[i - l + 8][7 - j][8 - j]' as A[i2][l][i] (offset 0) by thread (0,0,0) of block (0,0,1), kernel fc_st_f_0_k0, stage 3
#include <stdio.h>
#include <stdlib.h>

static float A[31][18][27];
static float B[26][29][19];

static void f(float s)
{
#pragma scop
    for (int i = 0; i < 8; i += 2)
        for (int j = 7; j >= i + 1; j--)
            for (int k = 0; k <= j + 3; k++)
                for (int l = 7; l >= 0; l--) {
                    A[i - l + 8][7 - j][8 - j] += 0.5f * B[l + k][k + 1][0];
                    A[l + 7 - j][l][i] += s;
                    B[i][2 * k][l] += 0.25f * A[2 * j][j + 2][2 * i];
                }
#pragma endscop
}

int main(void)
{
    float *a = &A[0][0][0], *b = &B[0][0][0], sum = 0;
    for (int i = 0; i < 31 * 18 * 27; i++)
        a[i] = i % 17 / 8.0f;
    for (int i = 0; i < 26 * 29 * 19; i++)
        b[i] = i % 13 / 4.0f;
    f(0.25f);
    for (int i = 0; i < 31 * 18 * 27; i++)
        sum = sum * 0.99f + a[i];
    for (int i = 0; i < 26 * 29 * 19; i++)
        sum = sum * 0.99f + b[i];
    printf("%a\n", sum);
    return 0;
}
