// flags: -O 1 --target emulator --device h100
// certificate
// p0_0_k1: a dependence of the source is not kept; source S3[i=7, j=4] at fuzz.c:35: A1[(P0[i] & 7)] = 0.5f * A0[j + i] + 0.25f * A0[j + 1]; target F_A0[A0_e0=11] at fuzz.c:26: A0 keeps its final values; element A0[11]
// p0_0_k1: a dependence of the source is not kept; source S3[i=0, j=4] at fuzz.c:35: A1[(P0[i] & 7)] = 0.5f * A0[j + i] + 0.25f * A0[j + 1]; target F_A0[A0_e0=5] at fuzz.c:26: A0 keeps its final values; element A0[5]
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record { float x; int k; double w; unsigned char c; };

static int toint(double x) { return x > -1000 && x < 1000 ? (int)x : 7; }
static int mix(int a, int b) { int t = a ^ b; if (t > 40) t = t / 3; return t + 1; }
static double blend(double a, double b) { return a < b ? 0.5 * a + 0.25 * b : 0.25 * a; }

double p0(int m, float *restrict A0, float A1[restrict 40], int P0[restrict 8])
{
    const int n = 32;
#pragma scop
    for (int i = 0; i < 3; i++) {
#pragma omp parallel
        {
#pragma omp for
            for (int j = 1; j < n - 1; j++) {
                A1[j] = 0.5f * A0[j] + 0.25f * A0[j] + 0.125f * A0[j];
            }
        }
#pragma omp parallel for
        for (int j = 1; j < n - 1; j++) {
            A0[j] = 0.5f * A1[j - 1] + 0.25f * A1[j - 1];
        }
    }
    for (int i = 0; i < 8; i++) {
        P0[i] = (i * 5 + 3) & 7;
    }
#pragma omp parallel for
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 5; j++) {
            A1[(P0[i] & 7)] = 0.5f * A0[j + i] + 0.25f * A0[j + 1];
        }
    }
#pragma endscop
    return 0.0;
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
        default: ((struct record *)made)[t] = (struct record){ bits / 65536.0f, bits, bits / 65536.0, bits };
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
        default: add(r->x); add(r->k); add(r->w); add(r->c);
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
    long count0 = (long)(n + 12);
    float *A0 = make(count0, sizeof *A0, 0, 4);
    long count1 = (long)(n + 8);
    float *A1 = make(count1, sizeof *A1, 1, 4);
    long count2 = (long)(8);
    int *P0 = make(count2, sizeof *P0, 2, 2);
    used = 0;
    double value = p0(m, (void *)A0, (void *)A1, (void *)P0);
    show("p0.value", n, m, 1, &value, 5);
    show("p0.A0", n, m, count0, A0, 4);
    free(A0);
    show("p0.A1", n, m, count1, A1, 4);
    free(A1);
    show("p0.P0", n, m, count2, P0, 2);
    free(P0);
}

int main(int argc, char **argv)
{
    int which = argc > 1 ? atoi(argv[1]) : -1;
    if (which == 0 && argc > 3)
        run0(atoi(argv[2]), atoi(argv[3]));
    else if (which < 0 || which == 0) {
        run0(32, 0);
    }
    return 0;
}
