// flags: --target emulator --device h100
// slow
// the same, where the array is read and written along two of them
#include <stdio.h>
#include <stdlib.h>

static void f(int n, int m, unsigned p, float *restrict a, unsigned char *restrict b)
{
#pragma scop
    for (int h = 0; h < m; h++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                for (int k = 0; k < 16; k += 2)
                    a[(h * 51 + j) * 37 + i] += a[(h * 51 + i - k + 14) * 37 + k] * a[(h * 51 + k) * 37 + j];
    for (int i = 0; i < p; i++)
        b[i + 1] = b[i] & 31;
#pragma endscop
}

int main(void)
{
    float *a = calloc(3774, sizeof *a);
    for (int t = 0; t < 3774; t++)
        a[t] = (t * 37 % 101) / 128.0f;
    unsigned char *b = calloc(9, sizeof *b);
    for (int t = 0; t < 9; t++)
        b[t] = t * 7;
    f(13, 2, 8, a, b);
    for (int t = 0; t < 3774; t++)
        printf("a[%d] %.17g\n", t, (double)a[t]);
    for (int t = 0; t < 9; t++)
        printf("b[%d] %.17g\n", t, (double)b[t]);
    free(a);
    free(b);
    return 0;
}
