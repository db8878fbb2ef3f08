// flags: --target emulator --device h100
// the last tile fetched ahead had no clamp: rows are constant, the loop ends at min(n, 96)
#include <stdio.h>
#include <stdlib.h>

static float sums[97];

static void f(unsigned n, float rows[restrict 128][99], unsigned short *restrict counts)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = i; j < 96; j++) {
            sums[i] += 0.5f * rows[i + j][j] + 0.5f * sums[j + 1];
            counts[j] = (counts[j] & 63) + (rows[i][j + 3] > 2);
        }
#pragma endscop
}

int main(void)
{
    float *rows = calloc(12672, sizeof *rows);
    for (int t = 0; t < 12672; t++)
        rows[t] = (t * 37 % 101) / 128.0f;
    unsigned short *counts = calloc(96, sizeof *counts);
    for (int t = 0; t < 96; t++)
        counts[t] = t % 50;
    f(32, (void *)rows, counts);
    for (int t = 0; t < 12672; t++)
        printf("rows[%d] %.17g\n", t, (double)rows[t]);
    for (int t = 0; t < 96; t++)
        printf("counts[%d] %.17g\n", t, (double)counts[t]);
    free(rows);
    free(counts);
    return 0;
}
