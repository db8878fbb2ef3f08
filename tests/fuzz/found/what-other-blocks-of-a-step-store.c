// flags: -O 1 --target emulator --device generic --proof 0.3
// check
// error: race between blocks: read of 'A[i + 3][j + 1]' as A[(tid / 8) + 2][...] (offset 443) by thread (8,0,0) of block (1,0,0), kernel main_0_k1, stage 1
#include <stdio.h>

static int A[102][100];

int main(void)
{
    unsigned sum = 0;
    for (int i = 0; i < 102; i++)
        for (int j = 0; j < 100; j++)
            A[i][j] = (i * 7 + j * 3) % 101;
#pragma scop
    for (int i = -1; i < 1; i++)
        for (int j = 0; j <= 96; j++) {
            A[j][j] = -(j + 2);
            A[i + 3][j + 1] = (A[i + 3][j + 1] & 4095) + (A[j][i + 2] & 511) * (j + 2);
        }
#pragma endscop
    for (int i = 0; i < 102; i++)
        for (int j = 0; j < 100; j++)
            sum = sum * 31 + A[i][j];
    printf("%u\n", sum);
    return 0;
}
