// flags: --target emulator --device h100
// the tile after the last one was fetched from beyond the arrays
#include <stdio.h>
#include <stdlib.h>

#define N 64
static float a[N][N], b[N][N], c[N][N];

static void f(float *out)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i][j] = (i * 3 + j) % 7;
            b[i][j] = (i + j * 5) % 11;
        }
#pragma scop
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                c[i][j] += a[i][k] * b[k][j];
#pragma endscop
    for (int i = 0; i < N; i++)
        out[i] = c[i][i] + c[i][N - 1 - i];
}

int main(void)
{
    float *out = calloc(64, sizeof *out);
    for (int t = 0; t < 64; t++)
        out[t] = 0;
    f(out);
    for (int t = 0; t < 64; t++)
        printf("out[%d] %.17g\n", t, (double)out[t]);
    free(out);
    return 0;
}
