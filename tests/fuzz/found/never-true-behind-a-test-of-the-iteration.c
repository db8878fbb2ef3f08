// flags: -O 0 --target emulator --device generic
// certificate
// `i == 2` was joined with a test of the source that no iteration passes, so that both are the same: the
// instance i = 2 seemed to be executed in each iteration.

#include <stdio.h>
#include <stdlib.h>

static void put(long *p, long v, int i)
{
    long t = *p;
    if (i % 2 == 0) t = v; else if (i == 3) return;
    *p = t;
}

double p0(long A0[restrict 3], long A1[restrict 7])
{
    const unsigned long n = 48;
    long s0 = 1;
#pragma scop
    for (int i = 2; i < 5; i += 2) {
        s0 = A0[i - 2];
        A1[i] ^= (A1[i - 1] & 63);
        switch (i > n - 2) case 0: {
            continue;
        }
        {
            put(&A0[0], A1[i - 1], i);
        }
    }
#pragma endscop
    return 0.0 + s0;
}

int main(void)
{
    long *A0 = malloc(3 * sizeof *A0), *A1 = malloc(7 * sizeof *A1);
    for (int i = 0; i < 3; i++)
        A0[i] = 5 * i + 2;
    for (int i = 0; i < 7; i++)
        A1[i] = 11 * i - 3;
    printf("p0.value %g\n", p0(A0, A1));
    for (int i = 0; i < 3; i++)
        printf("p0.A0[%d] %ld\n", i, A0[i]);
    for (int i = 0; i < 7; i++)
        printf("p0.A1[%d] %ld\n", i, A1[i]);
    free(A0);
    free(A1);
    return 0;
}
