// flags: --target emulator --device h100
// the certificate of what is copied did not end: subscripts of three strides in rows of no length
#include <stdio.h>
#include <stdlib.h>

static void f(int n, unsigned char *restrict a, char b[restrict 102][102], unsigned char *restrict c)
{
#pragma scop
    for (int h = 0; h < n; h++)
        for (int i = 101; i >= 0; i--)
            for (int j = 0; j < 102; j += 3) {
                a[(h * 102 + i) * 100 + j] = (a[(h * 102 + i) * 100 + j] & 7) + (b[i][j] & 15);
                for (int k = 0; k < i + 1; k++)
                    a[(h * 102 + i) * 100 + j] = (a[(h * 102 + i) * 100 + j] & 63)
                                               + (b[i][k] & 7) * (c[(h * 100 + j) * 203 + 2 * k] & 7);
            }
#pragma endscop
}

int main(void)
{
    unsigned char *a = calloc(10300, sizeof *a);
    for (int t = 0; t < 10300; t++)
        a[t] = t;
    char *b = calloc(10404, sizeof *b);
    for (int t = 0; t < 10404; t++)
        b[t] = t % 100;
    unsigned char *c = calloc(20706, sizeof *c);
    for (int t = 0; t < 20706; t++)
        c[t] = t % 90;
    f(1, a, (void *)b, c);
    for (int t = 0; t < 10300; t++)
        printf("a[%d] %.17g\n", t, (double)a[t]);
    for (int t = 0; t < 10404; t++)
        printf("b[%d] %.17g\n", t, (double)b[t]);
    for (int t = 0; t < 20706; t++)
        printf("c[%d] %.17g\n", t, (double)c[t]);
    free(a);
    free(b);
    free(c);
    return 0;
}
