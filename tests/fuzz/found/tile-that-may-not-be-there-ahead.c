// flags: -O 1 --target emulator --device h100 --reassociate --assume n=96
// certificate
// p0_0_k1: an access outside of global array 'A2'; by thread (0, 0, 0) of block (0, 0, 0), a copy of 'A2'; element A2[-1][1][2]; where m=-1, w1_A2=4, w2_A2=3
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char walked[1 << 28]; /* what pointers go through that nothing is read by */
struct record { float x; int v_1; double w; unsigned char c; float v[3]; };

static int toint(double x) { return x > -1000 && x < 1000 ? (int)x : 7; }
static int mix(int a, int b) { int t = a ^ b; if (t > 40) t = t / 3; return t + 1; }
static double blend(double a, double b) { return a < b ? 0.5 * a + 0.25 * b : 0.25 * a; }

double p0(int n, int m, int w1_A2, int w2_A2, unsigned int *restrict A2)
{
    unsigned char s0 = 1;
    int i, j, k, l, d;
#pragma scop
    s0 = 0;
    for (j = 1; j < (m + 2 < m + 2 ? m + 2 : m + 2); j++) {
        for (k = j + 1; k < n - j; k++) {
            A2[((k + j - 2) * w1_A2 + 1) * w2_A2 + k] = A2[((j) * w1_A2 + j - 1) * w2_A2 + k - 1];
            s0 = s0 >= ((unsigned char)(A2[((k + j - 2) * w1_A2 + 1) * w2_A2 + k])) ? s0 : ((unsigned char)(A2[((k + j - 2) * w1_A2 + 1) * w2_A2 + k]));
        }
    }
#pragma endscop
    return 0.0 + s0;
}

static void *make(long count, size_t size, int seed, int kind)
{
    void *made = malloc(count * size);
    long t = 0;
    while (t < count) {
        unsigned bits = ((unsigned)t * 2654435761u + seed * 2246822519u) >> 16;
        switch (kind) {
        case 0: ((unsigned char *)made)[t] = bits; break;
        case 1: ((short *)made)[t] = bits; break;
        case 2: ((int *)made)[t] = (int)bits - 999; break;
        case 3: ((long *)made)[t] = (long)bits - 999; break;
        case 4: ((float *)made)[t] = bits / 65536.0f; break;
        case 5: ((double *)made)[t] = bits / 65536.0; break;
        case 7: ((float _Complex *)made)[t] = CMPLXF(bits / 65536.0f, 0.75f - bits / 131072.0f); break;
        case 8: ((double _Complex *)made)[t] = CMPLX(bits / 65536.0, 0.75 - bits / 131072.0); break;
        default: ((struct record *)made)[t] = (struct record){ bits / 65536.0f, bits, bits / 65536.0, bits,
            { bits / 131072.0f, 1, bits / 32768.0f } };
        }
        t++;
    }
    return made;
}

static unsigned long long hash;

static void add(double value)
{
    unsigned long long bits;
    value = value == value ? value : 0x1p-1000;
    memcpy(&bits, &value, sizeof bits);
    hash = (hash ^ bits) * 1099511628211ull;
    hash ^= hash >> 29;
}

static void show(const char *name, int n, int m, long count, const void *made, int kind)
{
    long t = 0;
    hash = 14695981039346656037ull;
    while (t < count) {
        const struct record *r = (const struct record *)made + t;
        switch (kind) {
        case 0: add(((unsigned char *)made)[t]); break;
        case 1: add(((short *)made)[t]); break;
        case 2: add(((int *)made)[t]); break;
        case 3: add(((long *)made)[t] >> 32); add(((long *)made)[t] & 0xffffffff); break;
        case 4: add(((float *)made)[t]); break;
        case 5: add(((double *)made)[t]); break;
        case 7: add(((float *)made)[2 * t]); add(((float *)made)[2 * t + 1]); break;
        case 8: add(((double *)made)[2 * t]); add(((double *)made)[2 * t + 1]); break;
        default: add(r->x); add(r->v_1); add(r->w); add(r->c); add(r->v[0]); add(r->v[1]); add(r->v[2]);
        }
        t++;
    }
    printf("%s %d %d %016llx\n", name, n, m, hash);
}

static char *pointers[1 << 21]; /* to rows, of one run */
static long used;

static void *table(char *block, long size, int rank, const long *extents)
{
    char **made = pointers + used;
    long k = 0, row = size;
    used += extents[0];
    for (k = 1; k < rank; k++)
        row *= extents[k];
    for (k = 0; k < extents[0]; k++)
        made[k] = rank > 2 ? table(block + k * row, size, rank - 1, extents + 1) : block + k * row;
    return made;
}

static void run0(int n, int m)
{
    long count0 = (long)(n + m + 2) * (long)(m + 2) * (long)(n + 1);
    unsigned int *A2 = make(count0, sizeof *A2, 0, 2);
    used = 0;
    double value = p0(n, m, m + 2, n + 1, (void *)A2);
    show("p0.value", n, m, 1, &value, 5);
    show("p0.A2", n, m, count0, A2, 2);
    free(A2);
}

int main(int argc, char **argv)
{
    int which = argc > 1 ? atoi(argv[1]) : -1;
    if (which == 0 && argc > 3)
        run0(atoi(argv[2]), atoi(argv[3]));
    else if (which < 0 || which == 0) {
        run0(0, 0);
    }
    return 0;
}

