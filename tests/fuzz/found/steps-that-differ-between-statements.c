// flags: -O 1 --target emulator --device generic
// check
// error: race between blocks: write of 'A[i][i]' as A[p1][p1]
#include <stdio.h>
#include <stdlib.h>

float f(int n, int m, int A[n + m + 8][n + m + 5])
{
    float s = 1;
#pragma scop
    for (int i = m - 1; i >= 0; i--)
        for (int j = i; j < n - 1; j++) {
            A[j + 1][j + 1] = (A[i][i] & 63) * 1000;
            if (j + 2 <= (A[j + 2][i] & 1023))
                A[j][1] += 7;
            s = 0.25f * A[i + 2][j];
        }
#pragma endscop
    return s;
}

int main(void)
{
    int sizes[][2] = { { 0, 0 }, { 1, 4 }, { 7, 5 }, { 33, 33 }, { 37, 33 }, { 33, 70 } };
    for (int k = 0; k < 6; k++) {
        int n = sizes[k][0], m = sizes[k][1], count = (n + m + 8) * (n + m + 5);
        int *a = malloc(count * sizeof *a);
        for (int t = 0; t < count; t++)
            a[t] = t * 7 % 1009;
        printf("%a\n", f(n, m, (void *)a));
        for (int t = 0; t < count; t++)
            printf("%d\n", a[t]);
        free(a);
    }
    return 0;
}
