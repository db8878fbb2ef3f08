// flags: --target emulator --device h100 --assume n=128
// a tile fetched ahead without a clamp once the size is assumed
#include <stdio.h>
#include <stdlib.h>

static float halves[253], doubles[255];

static void f(int n, float x[restrict n], float rows[restrict][255], double *restrict y, float *restrict z)
{
#pragma scop
    for (int i = 0; i <= n - 1; i++) {
        x[i] = 1;
        for (int j = i + 1; j < n; j++)
            x[i] -= 0.25f * (rows[i - j + 127][j] * halves[j + i - 1]);
    }
    for (int i = 0; i <= n - 1; i++)
        for (int j = i; j >= 0; j--) {
            y[i] += 0.5 * rows[i][j] + 0.5 * doubles[2 * j];
            z[j] = 0.5f * z[j] + 0.5f * rows[i][i + j];
        }
#pragma endscop
}

int main(void)
{
    float *x = calloc(128, sizeof *x);
    for (int t = 0; t < 128; t++)
        x[t] = (t * 37 % 101) / 128.0f;
    float *rows = calloc(32640, sizeof *rows);
    for (int t = 0; t < 32640; t++)
        rows[t] = (t * 37 % 101) / 128.0f;
    double *y = calloc(128, sizeof *y);
    for (int t = 0; t < 128; t++)
        y[t] = t;
    float *z = calloc(128, sizeof *z);
    for (int t = 0; t < 128; t++)
        z[t] = (t * 37 % 101) / 128.0f;
    f(128, x, (void *)rows, y, z);
    for (int t = 0; t < 128; t++)
        printf("x[%d] %.17g\n", t, (double)x[t]);
    for (int t = 0; t < 32640; t++)
        printf("rows[%d] %.17g\n", t, (double)rows[t]);
    for (int t = 0; t < 128; t++)
        printf("y[%d] %.17g\n", t, (double)y[t]);
    for (int t = 0; t < 128; t++)
        printf("z[%d] %.17g\n", t, (double)z[t]);
    free(x);
    free(rows);
    free(y);
    free(z);
    return 0;
}
