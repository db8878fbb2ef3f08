// flags: -O 1 --target emulator --device h100
// differs
// 20 points for 8 threads, three for each: dealt in groups of two, the third one was no thread's
#include <stdio.h>
static double a[20][20], b[20][20], c[20][20];

void f(void)
{
#pragma scop
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < 20; j++)
            for (int k = 0; k < 20; k++)
                c[i][j] += a[i][k] * b[k][j];
#pragma endscop
}

int main(void)
{
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < 20; j++)
            a[i][j] = i * j % 11, b[i][j] = (i + 3 * j) % 17, c[i][j] = i - j;
    f();
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < 20; j++)
            printf("%a\n", c[i][j]);
    return 0;
}
