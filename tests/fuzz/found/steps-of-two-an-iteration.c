// flags: -O 1 --target emulator --device generic
// check
// error: race between blocks: read of 'A[j]' as A[polygpu_min_int((tid % 32) + 1, A_n0 - 1)]
#include <stdio.h>

void f(int n, float A[n + 62], float B[n + 32][n + 64])
{
#pragma scop
    for (int i = 1; i < 32; i++) {
        for (int j = 1; j < n - 1; j++)
            A[i] += 0.0625f * (0.5f * B[j][i] + 0.25f * A[j]);
    }
#pragma endscop
}

static float a[200], b[100000];

int main(void)
{
    int sizes[] = { 0, 1, 2, 7, 31, 64 };
    for (int k = 0; k < 6; k++) {
        int n = sizes[k];
        for (int t = 0; t < n + 62; t++)
            a[t] = t % 13 * 0.25f;
        for (int t = 0; t < (n + 32) * (n + 64); t++)
            b[t] = t % 17 * 0.125f;
        f(n, a, (void *)b);
        for (int t = 0; t < n + 62; t++)
            printf("%a\n", a[t]);
    }
    return 0;
}
