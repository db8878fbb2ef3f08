// flags: -O 2 --target emulator --device generic
// check
// What threads read of a tile of steps is zero where no array has it, also where the array, here that of a
// scalar with a place per iteration, has no element at all: v of the first loop with m = 0.

#include <stdio.h>
#include <stdlib.h>

static void part(short *p, long v, int i)
{
    switch (i & 3) {
    case 0: p[0] = v; break;
    case 1: case 3: return;
    default: p[0] = v;
    }
}

double p0(int m, short A0[restrict m + 3], short A1[restrict m + 2])
{
#pragma scop
    for (int i = 0; i < 3; i++) {
        for (int j = 1; j <= m; j++)
            part(&A1[j - 1], (A0[j - 1] & 63) + (A0[j] & 31), j);
        for (int j = 1; j < m + 2; j++)
            A0[j + 1] = (A1[j] & 63) + (A1[j] & 31);
    }
#pragma endscop
    return 0;
}

int main(int argc, char **argv)
{
    int m = argc > 1 ? atoi(argv[argc - 1]) : 0;
    short *a = malloc((m + 3) * sizeof *a), *b = malloc((m + 2) * sizeof *b);
    unsigned long sum = 0;
    for (int i = 0; i < m + 3; i++)
        a[i] = i * 31 % 101;
    for (int i = 0; i < m + 2; i++)
        b[i] = i * 17 % 97;
    p0(m, a, b);
    for (int i = 0; i < m + 3; i++)
        sum = sum * 3 + a[i];
    for (int i = 0; i < m + 2; i++)
        sum = sum * 3 + b[i];
    printf("%lu\n", sum);
    free(a);
    free(b);
    return 0;
}
