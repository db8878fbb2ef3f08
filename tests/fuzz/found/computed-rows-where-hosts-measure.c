// flags: -O 1 --target emulator --device h100
// build: undefined reference to floord
// the length of the rows of what a host reads, to measure other arrays, is a remainder
#include <stdio.h>
#include <stdlib.h>

void walk(int n, int m, int w, const int *restrict from, const unsigned char value[], const int order[],
          float sum[restrict m + 2][4])
{
#pragma scop
    for (int i = n - 1; i >= 0; i -= 2)
        for (int k = 1; k < m + 2; k++) {
            float t = -(k + 2);
            for (int l = from[(i + 1) * (~w & 4095) + k] & 3; l < 2; l++)
                t = 0.5f * t + value[order[l & 7] & 7];
            sum[k][1] += t;
        }
#pragma endscop
}

int main(void)
{
    enum { n = 6, m = 9, rows = 12 };
    static int from[(n + 1) * rows], order[8];
    static unsigned char value[8];
    static float sum[m + 2][4];
    for (int t = 0; t < (n + 1) * rows; t++)
        from[t] = t * 37 % 101;
    for (int t = 0; t < 8; t++) {
        order[t] = t * 3;
        value[t] = t * 53 % 97;
    }
    walk(n, m, 4095 - rows, from, (void *)value, (void *)order, sum);
    for (int t = 0; t < m + 2; t++)
        printf("%g\n", sum[t][1]);
    return 0;
}
