// flags: -O 1 --target emulator --device generic
// check
// error: race between blocks: write of 'A[j][2 * j][j + i + 1]' as A[...] (offset 1091) by thread (3,0,0) of block (0,2,1), kernel main_0_k0, stage 2
#include <stdio.h>

static short A[47][32][30];

int main(void)
{
    unsigned sum = 0;
    for (int i = 0; i < 47; i++)
        for (int j = 0; j < 32; j++)
            for (int k = 0; k < 30; k++)
                A[i][j][k] = (i * 7 + j * 3 + k) % 101;
#pragma scop
    for (int i = 1; i < 17; i++)
        for (int j = 4; j >= 0; j--)
            A[j][2 * j][j + i + 1] = (A[j - i + 16][2 * j][i] & 511) == (A[2 * i - 2][j + i - 1][i + j] & 63);
#pragma endscop
    for (int i = 0; i < 47; i++)
        for (int j = 0; j < 32; j++)
            for (int k = 0; k < 30; k++)
                sum = sum * 31 + A[i][j][k];
    printf("%u\n", sum);
    return 0;
}
