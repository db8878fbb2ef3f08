// flags: -O 1 --target emulator --device h100
// check
// A loop of one iteration counts as parallel, so that its one thread had 64 that copied for it without barriers
// between what it stores and what they copy.

#include <stdio.h>
#include <stdlib.h>

double p0(int m, long A0[restrict m + 17][17])
{
#pragma scop
    for (int i = 8; i >= 0; i--) {
        A0[-i + 8][i + 1] = (A0[i + 1][i] & 63) ^ (i + 2);
        for (int j = 1; j < 3; j += 2) {
            A0[2 * i][i + 1] = 0;
            for (int k = m - 1; k > i - 1; k--)
                A0[2 * i][i + 1] += 15 & (A0[k + 1][i] ^ A0[k + 1][2 * i]);
        }
    }
#pragma endscop
    return 0;
}

int main(int argc, char **argv)
{
    int m = argc > 1 ? atoi(argv[argc - 1]) : 2;
    long (*a)[17] = malloc((m + 17) * sizeof *a);
    unsigned long sum = 0;
    for (int i = 0; i < m + 17; i++)
        for (int j = 0; j < 17; j++)
            a[i][j] = (i * 31 + j * 17) % 101;
    p0(m, a);
    for (int i = 0; i < m + 17; i++)
        for (int j = 0; j < 17; j++)
            sum = sum * 3 + a[i][j];
    printf("%lu\n", sum);
    free(a);
    return 0;
}
