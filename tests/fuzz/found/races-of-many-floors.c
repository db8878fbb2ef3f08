// flags: -O 2 --target emulator --device h100 --proof 0.5
// slow
// budget
// a difference of executions with many floors took isl for ever
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char walked[1 << 28]; /* what pointers go through that nothing is read by */
struct record { float x; int v_1; double w; unsigned char c; float v[3]; };

static int toint(double x) { return x > -1000 && x < 1000 ? (int)x : 7; }
static int mix(int a, int b) { int t = a ^ b; if (t > 40) t = t / 3; return t + 1; }
static double blend(double a, double b) { return a < b ? 0.5 * a + 0.25 * b : 0.25 * a; }

enum { p0_n = 16, p0_m = 32 };
double p0(int A0[restrict 2 * p0_n + 1][2 * p0_n + 1][2 * p0_n + 2])
{
#pragma scop
    for (int i = p0_n - 1; i >= 0; i--) {
        A0[i][i + 1][i] = (A0[i][i][2 * i + 1] & 511);
        for (int j = 0; j < p0_n; j++) {
            A0[i][j][j + 2] = ((A0[j + i][j + 1][-i + p0_n + 1] & 511) - 9) % 7;
            A0[-j + p0_n - 1][i][1] = (A0[2 * j][j - i + p0_n][i] & 63) >> 1;
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
    long count0 = (long)(2 * n + 1) * (long)(2 * n + 1) * (long)(2 * n + 2);
    int *A0 = make(count0, sizeof *A0, 0, 2);
    used = 0;
    double value = p0((void *)A0);
    show("p0.value", n, m, 1, &value, 5);
    show("p0.A0", n, m, count0, A0, 2);
    free(A0);
}

int main(int argc, char **argv)
{
    int which = argc > 1 ? atoi(argv[1]) : -1;
    if (which == 0 && argc > 3)
        run0(atoi(argv[2]), atoi(argv[3]));
    else if (which < 0 || which == 0) {
        run0(16, 32);
    }
    return 0;
}

