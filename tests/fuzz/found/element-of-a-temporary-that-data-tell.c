// flags: -O 1 --target emulator --device 8800gtx
// certificate
// Data decide which statement sets c7, and both set it to j: an expanded A0 is read at the element that the
// same thread has written. It was said to be any element of its row, which others write.

#include <stdio.h>
#include <stdlib.h>

static int f(int n, int A0[restrict n + 1], int A1[restrict n + 1][n + 1])
{
    int c7 = 0;
#pragma scop
    for (int i = 1; i < n; i++) {
        for (int j = 1; j < n; j++)
            A0[j] = (A1[i][j] & 63) + (A1[i][j] & 31);
        for (int j = n - 2; j >= 1; j--) {
            if (j % 40 * (j % 40) % 3 == 1) c7 = j; else { c7 = j - 1; c7++; }
            A1[i][j] = (A1[i][j] & 63) + (A0[c7] & 15);
        }
    }
#pragma endscop
    return c7;
}

int main(void)
{
    for (int n = 1; n < 60; n += 19) {
        int *A0 = malloc((n + 1) * sizeof *A0), (*A1)[n + 1] = malloc((n + 1) * sizeof *A1);
        for (int i = 0; i <= n; i++) {
            A0[i] = i % 7;
            for (int j = 0; j <= n; j++)
                A1[i][j] = (i * 31 + j * 17) % 101;
        }
        unsigned long sum = f(n, A0, A1);
        for (int i = 0; i <= n; i++) {
            sum = sum * 31 + A0[i];
            for (int j = 0; j <= n; j++)
                sum = sum * 31 + A1[i][j];
        }
        printf("%d %lu\n", n, sum);
        free(A0);
        free(A1);
    }
    return 0;
}
