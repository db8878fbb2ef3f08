// flags: -O 2 --target emulator --device h100 --decide "steps(t: 4)"
// traceback
// two loops in tiles of time, whose last tiles both leave what they made in the second version of an array
#include <stdio.h>
#include <stdlib.h>

void f(int n, float a[restrict n], float a_[restrict n])
{
#pragma scop
    for (int t = 0; t < 20; t++) {
        for (int i = 1; i < n - 1; i++)
            a_[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
        for (int i = 1; i < n - 1; i++)
            a[i] = a_[i];
    }
    for (int t = 0; t < 12; t++) {
        for (int i = 1; i < n - 1; i++)
            a_[i] = (a[i - 1] + 2 * a[i] + a[i + 1]) / 4;
        for (int i = 1; i < n - 1; i++)
            a[i] = a_[i];
    }
#pragma endscop
}

int main(void)
{
    for (int n = 0; n < 400; n += 57) {
        float *a = malloc((n + 1) * sizeof *a), *b = malloc((n + 1) * sizeof *b);
        for (int i = 0; i < n; i++)
            a[i] = i * 37 % 101, b[i] = i;
        f(n, a, b);
        for (int i = 0; i < n; i++)
            printf("%a %a\n", a[i], b[i]);
        free(a);
        free(b);
    }
    return 0;
}
