// flags: -O 1 --target emulator --device generic
// slow
// check
// Distances with coefficients such as 341, of places in a table of one row, were a problem of two statements
// that isl never came to the end of.

#include <stdio.h>
#include <stdlib.h>

struct inner0 { float unused; unsigned long n, two_n; unsigned long m, two_m; unsigned long last; };
struct held0 { unsigned long n, two_n; unsigned long m, two_m; unsigned long one, two; struct inner0 inner; char *A0; short *A1; };
static void h0_0(short *p, short v, int i)
{ if (v < 5) { (*p) = v; return; } (*p) = v; }

static void h0_1(unsigned long n, unsigned long m, char *restrict A0, short *restrict A1, double A2[1][1], struct held0 *h, struct inner0 v, const unsigned long *dims, const unsigned long *at_n, const unsigned long *at_m, int i)
{
    for (int j = n - i; j < 11; j++) {
        at3:
        A1[((j) * 57 + i - 1) * 68 + 2 * j] = (unsigned char)(A0[(i - 1) * 56 + i + 2] & 63);
        at4:
        h0_0(&A1[((j - 1) * 57 + (-j + 10)) * 68 + i], ((A0[(i - 2) * 56 + (i + j - 1)] & 255) - 20) / 3, j);
    }
}

double p0(unsigned long n, unsigned long m, char *restrict A0, short *restrict A1, double A2[1][1], struct held0 *h, struct inner0 v, const unsigned long *dims, const unsigned long *at_n, const unsigned long *at_m)
{
#pragma scop
    at1:
    for (int i = 2; i < dims[0]; i++) {
        at2:
        h0_1(dims[0], dims[1], h->A0, h->A1, A2, h, v, dims, at_n, at_m, i);
    }
#pragma endscop
    return 0.0;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[argc - 1]) : 9, size = 12 * 57 * 68;
    char *a0 = malloc((n + 2) * 56);
    short *a1 = malloc(size * sizeof *a1);
    unsigned long sum = 0;
    for (int i = 0; i < (n + 2) * 56; i++)
        a0[i] = i * 31 % 101;
    for (int i = 0; i < size; i++)
        a1[i] = i * 17 % 97;
    unsigned long dims[] = { n, n, 1 };
    struct held0 held = { .one = 1, .two = 2, .A0 = a0, .A1 = a1 };
    p0(n, n, a0, a1, 0, &held, held.inner, dims, 0, 0);
    for (int i = 0; i < size; i++)
        sum = sum * 3 + a1[i];
    printf("%lu\n", sum);
    free(a0);
    free(a1);
    return 0;
}
