// flags: --target emulator --device 8800gtx
// coefficients of 391680 in a schedule: bounds overflowed int, elements outside were written
#include <stdio.h>
#include <stdlib.h>

static void f(int n, float *restrict a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 16; j >= 0; j--) {
            a[i * 33 + j] = 1;
            for (int k = i + 1; k < 47; k++)
                a[i * 33 + j] += 0.5f * a[(k - 1) * 33 + i];
        }
#pragma endscop
}

int main(void)
{
    float *a = calloc(2000, sizeof *a);
    for (int t = 0; t < 2000; t++)
        a[t] = (t * 37 % 101) / 128.0f;
    f(7, a);
    for (int t = 0; t < 2000; t++)
        printf("a[%d] %.17g\n", t, (double)a[t]);
    free(a);
    return 0;
}
