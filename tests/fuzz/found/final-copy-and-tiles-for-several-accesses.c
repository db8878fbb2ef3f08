// flags: -O 2 --target emulator --device generic
// certificate
// A tile that later kernels copy for two accesses says of which one it is, and the other one came before the copy
// of final values, as the certificate saw it.

#include <stdio.h>
#include <stdlib.h>

void p0(int m, int n, char A0[restrict 8][m + 8], char A1[restrict 9][m + 12])
{
#pragma scop
    for (int i = 0; i < 4; i++) {
        for (int j = 1; j <= 6; j++)
            for (int k = 1; k < n; k++)
                A1[j][k] = (A0[j][k + 1] & 63) + (A0[j][k] & 31) + (A0[j - 1][k + 1] & 15) + (A0[j][k - 1] & 7);
        for (int j = 1; j <= 7; j++)
            for (int k = 1; k < n; k++)
                A0[j - 1][k] = (A1[j][k - 1] & 63) + (A1[j][k] & 31) + (A1[j - 1][k] & 15);
    }
    for (int i = 1; i < 8; i++) {
        for (int j = 1; j < 8; j++)
            A1[j][i] += ((A0[i][0] & 63) + (A1[j + 1][i] & 31)) & 15;
        A1[i][0] = (A1[i][0] & 63) + (A1[i][0] & 31) + (A0[i][0] & 15);
        for (int j = 1; j < 9; j++)
            A1[i][0] += (A0[i][j - 1] & 63) + (A1[i][j + 1] & 31);
    }
#pragma endscop
}

int main(int argc, char **argv)
{
    int m = argc > 1 ? atoi(argv[argc - 1]) : 9;
    char(*a)[m + 8] = malloc(8 * sizeof *a), (*b)[m + 12] = malloc(9 * sizeof *b);
    unsigned long sum = 0;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < m + 8; j++)
            a[i][j] = (i * 31 + j * 17) % 101;
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < m + 12; j++)
            b[i][j] = (i * 13 + j * 7) % 101;
    p0(m, m + 3, a, b);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < m + 8; j++)
            sum = sum * 3 + a[i][j] + b[i][j];
    printf("%lu\n", sum);
    free(a);
    free(b);
    return 0;
}
