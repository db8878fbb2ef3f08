// flags: --target emulator
// crash: ValueError: not affine, of a row whose length the source computes
#include <stdio.h>

static void p0(int n, int k, int w, float *restrict a, const float *restrict b, const float *restrict c)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < w; j++)
            a[i * ((w + 3) & ~3) + j] = b[i * (1 << k) + j] + c[j * (n >> 1) + i / 2];
#pragma endscop
}

int main(void)
{
    static float a[20 * 20], b[20 * 32], c[20 * 20];
    for (int i = 0; i < 20 * 32; i++)
        b[i] = i % 37;
    for (int i = 0; i < 20 * 20; i++)
        c[i] = i % 23;
    p0(20, 5, 18, a, b, c);
    double sum = 0;
    for (int i = 0; i < 20 * 20; i++)
        sum += a[i] * (i % 11);
    printf("%g %g\n", sum, a[217]);
    return 0;
}
