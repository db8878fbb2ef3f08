// flags: -O 1 --target emulator --device h100 --decide 'f: tile(i: 4)' --decide 'f: threads(j: 2, i: 2)'
// certificate
// Threads compute for all points of a tile of i, where the kernel has one i: what the others leave in their
// registers is never stored, and was said to be computed of values that nobody computed.

#include <stdio.h>
#include <stdlib.h>

static void f(long n, long m, double A[restrict m + 11][m + 18], long w, double *restrict B)
{
#pragma scop
    for (int i = 1; i < 11; i++) {
        for (int j = 1; j < m; j++)
            B[i * w + j - 1] = 0.5 * A[i][0] + 0.25 * B[(i - 1) * w + j + 1];
        for (int j = 1; j < m; j++) {
            A[0][i - 1] = 0.5 * B[i * w + j];
            A[j][i - 1] += 0.0625 * (0.5 * A[i][j] + 0.25 * A[i][j]);
        }
        for (int j = 1; j < m - 1; j++)
            B[i * w + j] *= 0.5;
    }
    for (int i = 1; i < (10 < m ? 10 : m); i++)
        B[2 * i * w + i - 1] += A[i - 1][2 * i - 1] - B[(2 * i + 1) * w + 9 - i];
#pragma endscop
}

int main(void)
{
    for (int m = 1; m < 30; m += 7) {
        double *A = malloc((m + 11) * (m + 18) * sizeof *A), *B = malloc(20 * (m + 11) * sizeof *B), sum = 0;
        for (int k = 0; k < (m + 11) * (m + 18); k++)
            A[k] = k % 13;
        for (int k = 0; k < 20 * (m + 11); k++)
            B[k] = k % 7;
        f(m, m, (void *)A, m + 11, B);
        for (int k = 0; k < (m + 11) * (m + 18); k++)
            sum += A[k] * (k % 5 + 1);
        for (int k = 0; k < 20 * (m + 11); k++)
            sum += B[k] * (k % 3 + 1);
        printf("%.17g\n", sum);
        free(A);
        free(B);
    }
    return 0;
}
