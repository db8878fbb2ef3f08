// flags: -O 2 --target emulator --device h100
// check
// One step of isl took hours to find the least second objective of a schedule's row where the first, fixed,
// left equalities that nobody had said.

#include <stdio.h>
#include <stdlib.h>

static struct { int unused; unsigned int A2[65]; } G0_A2;
struct inner0 { float unused; long n, two_n; long m, two_m; long last; };
struct held0 { long n, two_n; long m, two_m; long one, two; struct inner0 inner; short *A1; };
double p0(long n, long m, float A0[restrict m + 1], long w1_A1, long w2_A1, short *restrict A1, unsigned long A3[restrict n + 1][n + m + 1], struct held0 *h, struct inner0 v, const long *dims, const long *at_n, const long *at_m)
{
    int chosen1;
    if (n < 5000) { chosen1 = 1; } else chosen1 = 3;
    long s0 = 1;
    float s1 = 1;
    for (int i = 0; i <= h->n - chosen1; i++) {
        for (int j = i + chosen1; j < h->m; j++) {
            if ((j + 2) > (A3[0][i - j + h->m + 2] & 1023)) {
                G0_A2.A2[i] = (G0_A2.A2[i] & 4095) + (h->A1[((-i + h->n - chosen1) * w1_A1 + 2) * w2_A1 + 2 * j - chosen1] & 255) >> 1;
            }
            A0[j] = 0.5f * A0[j] + 0.25f * (j + 2) + 0.125f * 2;
            h->A1[((i) * w1_A1 + i - j + h->m - chosen1) * w2_A1 + i + j - chosen1] = (A3[i][j + chosen1] & 511) - (G0_A2.A2[i + j - chosen1] & 255);
        }
    }
    return 0.0 + s0 + s1;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[argc - 1]) : 5, m = n + 2, w1 = n + m + 3, w2 = n + 2 * m + 1;
    float *a0 = malloc((m + 1) * sizeof *a0);
    short *a1 = malloc((n + 1) * w1 * w2 * sizeof *a1);
    unsigned long (*a3)[n + m + 1] = malloc((n + 1) * sizeof *a3);
    unsigned long sum = 0;
    for (int i = 0; i <= m; i++)
        a0[i] = i * 31 % 101;
    for (int i = 0; i < (n + 1) * w1 * w2; i++)
        a1[i] = i * 17 % 97;
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= n + m; j++)
            a3[i][j] = (i * 7 + j * 11) % 50;
    struct held0 held = { .one = 1, .two = 2 };
    held.n = held.inner.n = n;
    held.m = held.inner.m = m;
    held.A1 = a1;
    p0(n, m, a0, w1, w2, a1, a3, &held, held.inner, 0, &held.n, &held.m);
    for (int i = 0; i <= m; i++)
        sum = sum * 3 + (long)(16 * a0[i]);
    for (int i = 0; i < (n + 1) * w1 * w2; i++)
        sum = sum * 3 + a1[i];
    printf("%lu\n", sum);
    free(a0);
    free(a1);
    free(a3);
    return 0;
}
