// flags: -O 1 --target emulator --device h100
// certificate
// int does not hold 6 * polygpu_floord(2 * n, 3); where n=-805289984: the test of rows says less of n than int would
#include <stdio.h>

static void f(int n, int m, int w, float x[restrict m], int *restrict a)
{
#pragma scop
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 8; j++)
            a[i * w + j] = j;
    for (int i = 0; i < n; i++)
        x[i] = i;
    for (int i = n - 1; i >= 0; i -= 2)
        if (i % 3 != 1)
            a[i * w + 2 * i + 1] += i;
#pragma endscop
}

static int a[999];
static float x[9];

int main(void)
{
    f(7, 9, 29, x, a);
    f(-2000000000, 9, 29, x, a);
    for (int i = 0; i < 999; i++)
        a[0] = (a[0] * 31 + a[i]) % 10007;
    printf("%d %g\n", a[0], x[6]);
    return 0;
}
