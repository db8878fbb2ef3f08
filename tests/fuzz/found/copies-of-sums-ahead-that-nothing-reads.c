// flags: -O 2 --target emulator --device generic
// certificate: a partial result is read that nobody computed, a copy of 'A_ahead'
#include <stdio.h>
#include <stdlib.h>

static void f(int m, short A[restrict 27][24][10])
{
#pragma scop
    for (int i = 0; i < m; i++)
        for (int j = (i + 3 < 6 ? i + 3 : 6); j >= 1; j--)
            for (int k = 0; k < 7; k++)
                for (int l = 1; l < m; l++)
                    A[i + j + 2][2 * i + 1][l + 1] += (A[l + k - 1][i][-i + m + 1] & 511) + 7;
#pragma endscop
}

int main(void)
{
    for (int m = 0; m < 9; m++) {
        short(*A)[24][10] = malloc(27 * sizeof *A);
        unsigned sum = 0;
        for (int t = 0; t < 27 * 24 * 10; t++)
            (&A[0][0][0])[t] = t * 31 % 1013;
        f(m, A);
        for (int t = 0; t < 27 * 24 * 10; t++)
            sum = sum * 31 + (&A[0][0][0])[t];
        printf("%d %u\n", m, sum);
        free(A);
    }
    return 0;
}
