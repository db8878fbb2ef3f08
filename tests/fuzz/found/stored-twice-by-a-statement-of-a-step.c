// flags: -O 1 --target emulator --device h100
// slow
// traceback
// ValueError: a version behind a step's store was cut by assignments, two of which may store one element
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char walked[1 << 28]; /* what pointers go through that nothing is read by */
struct record { float x; int v_1; double w; unsigned char c; float v[3]; };

static int toint(double x) { return x > -1000 && x < 1000 ? (int)x : 7; }
static int mix(int a, int b) { int t = a ^ b; if (t > 40) t = t / 3; return t + 1; }
static double blend(double a, double b) { return a < b ? 0.5 * a + 0.25 * b : 0.25 * a; }

enum { p0_n = 95, p0_m = 32 };
double p0(char A0[97])
{
    int c0 = 6;
    int c1 = 6;
    int c2 = 5;
    long c3 = 4;
    long c4 = 0;
    int u5 = 3;
    int c6 = 5;
    long c7 = 0;
#pragma scop
    A0[0] = 0;
    for (int i = 47; i >= 0; i--) {
        if (i < 3) c0 = i; else { c0 = i - 1; c0++; }
        if (!((i + 2) < A0[c0])) {
            if (i < 3) c1 = 2 * i; else { c1 = 2 * i - 1; c1++; }
            c2 = i + 1;
            A0[c1] = (A0[c1] & 4095) + ~(A0[c2] & 255);
            if (i < 3 || i > 3) {
                if (i <= 3) {
                    A0[2 * i + 1] = ((A0[0] & 63) - 9) % 7;
                }
            }
            c3 = i;
            if (i < 3) c4 = -i + 47; else { c4 = -i + 46; c4++; }
            if (!(A0[c3] < A0[c4])) {
                A0[i + 1] = (A0[i + 1] & 4095) + (long)(A0[2 * i] & 511) * 1000;
            }
        }
        u5 = (i + 1) + 3;
        for (int j = i + 1; j < 48 && j < i + 4; u5 = u5 + 1, j++) {
            A0[u5 + i - 2] ^= (A0[0] & 511) - (A0[i + 1] & 511);
            c6 = 2 * j + 2;
            if ((A0[c6] & 1023) < (A0[2 * i + 2] & 1023) && (A0[2 * i + 2] & 1023) != 3) {
                if (i != 3) {
                    c7 = j + 2;
                    A0[c7] = (A0[2 * i + 1] & 255);
                }
            }
        }
    }
#pragma endscop
    return 0.0 + u5;
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
    long count0 = (long)(97);
    char *A0 = make(count0, sizeof *A0, 0, 0);
    used = 0;
    double value = p0((void *)A0);
    show("p0.value", n, m, 1, &value, 5);
    show("p0.A0", n, m, count0, A0, 0);
    free(A0);
}

int main(int argc, char **argv)
{
    int which = argc > 1 ? atoi(argv[1]) : -1;
    if (which == 0 && argc > 3)
        run0(atoi(argv[2]), atoi(argv[3]));
    else if (which < 0 || which == 0) {
        run0(95, 32);
    }
    return 0;
}

