// flags: -O 1 --target emulator --device h100
// budget
// no certificate after 30 s, where it has 2.0 s
#include <math.h>
#include <stdio.h>

void f(int n, int m, float *restrict a)
{
    float s = 1;
#pragma scop
    for (int i = (8 < n - 1 ? 8 : n - 1); i >= -1; i -= 2) {
        for (int j = n - 1; j >= 0; j--) {
            a[((i + 2) * 44 + j) * 19 + i + 3] += 0.5f * (j + 2);
            for (int k = i; k < n && k < n - j; k++)
                a[(j * 44 + j - k + n) * 19 + 2 * i + 2] = sqrtf(fabsf(s));
        }
        for (int j = (m + 1 < 15 ? m + 1 : 15); j >= 0; j--)
            for (int k = 0; k < j + 4; k++)
                a[((k - j + m + 1) * 44 + 0) * 19 + i + 1] += sqrtf(fabsf(k + 2));
    }
#pragma endscop
}

static float a[60000];

int main(void)
{
    int sizes[] = { 0, 1, 2, 7, 20 };
    for (int s = 0; s < 25; s++) {
        for (int t = 0; t < 60000; t++)
            a[t] = t % 17 * 0.25f;
        f(sizes[s % 5], sizes[s / 5], a);
        for (int t = 0; t < 60000; t++)
            printf("%a\n", a[t]);
    }
    return 0;
}
