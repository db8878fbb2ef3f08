// flags: -O 2 --target emulator --device 8800gtx --decide "9.7: tile(i: 512)" --decide "9.7: deal(i: 2)"
// traceback
// registers for a scalar, which has no subscripts, at a thread's two points of a loop that sets it
#include <stdio.h>
static long a[40][40][40];
static int b[8][8];

static void set(int *p, int v, int i)
{ int t = (*p); if (i % 2 == 0) t = v; else if (i == 3) return; (*p) = t; }

int f(void)
{
    const unsigned int n = 8;
    int s = 1;
    for (long i = 0; i < n; i += 3) {
        for (unsigned int j = 0; j <= n - 1; j++) {
            set(&s, b[i][j], j);
            a[j - i + n][i][i] = (a[j - i + n][i][i] & 4095) + (a[j][j + i][2 * j] & 511) / 3;
        }
    }
    return s;
}

int main(void)
{
    unsigned long sum = 0;
    for (int k = 0; k < 40 * 40 * 40; k++)
        ((long *)a)[k] = k * 7919 % 1013;
    for (int k = 0; k < 64; k++)
        ((int *)b)[k] = k * 31 % 101;
    printf("%d\n", f());
    for (int k = 0; k < 40 * 40 * 40; k++)
        sum = sum * 31 + ((long *)a)[k];
    printf("%lu\n", sum);
    return 0;
}
