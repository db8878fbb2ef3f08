// flags: -O 2 --target emulator --device generic --assume n=7 --assume m=5
// certificate
// What A1[3] is behind all of its second updates is copied back before the third one of the last iteration
// is made: in the source that is a place within the loops, where the copy was not looked for.

#include <stdio.h>
#include <stdlib.h>

void p0(int n, int m, unsigned int *restrict A0, unsigned int *restrict A1, unsigned int A2[24])
{
#pragma scop
    for (int i = 1; i < n; i++)
        for (int j = 1; j < m; j++)
            A1[i] = (A2[i] & 63) + (A0[j] & 31);
    for (int i = 2; i < n; i++) {
        for (int j = i + 1; j < m; j++) {
            A1[i - 1] += A2[j] & 15;
            A1[3] -= A2[j];
            A1[i] ^= A0[j - 1] << 2;
        }
    }
#pragma endscop
}

int main(void)
{
    unsigned int *A0 = malloc(24 * sizeof *A0), *A1 = malloc(24 * sizeof *A1), A2[24];
    for (int i = 0; i < 24; i++) {
        A0[i] = 7 * i + 2;
        A1[i] = 11 * i + 3;
        A2[i] = 5 * i + 1;
    }
    p0(7, 5, A0, A1, A2);
    for (int i = 0; i < 24; i++)
        printf("p0.A1[%d] %u\n", i, A1[i]);
    free(A0);
    free(A1);
    return 0;
}
