// flags: -O 2 --target emulator --device h100
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record { float x; int k; double w; unsigned char c; };

static int toint(double x) { return x > -1000 && x < 1000 ? (int)x : 7; }
static int mix(int a, int b) { int t = a ^ b; if (t > 40) t = t / 3; return t + 1; }
static double blend(double a, double b) { return a < b ? 0.5 * a + 0.25 * b : 0.25 * a; }

#define P0_M 3
static int h0_0(const int *p, int v, int i)
{ if (v > 2) return v; return p[0]; }

static void h0_1(int *p, int v, int i)
{ (*p) = v; }

double p0(int n, int A0[restrict 65][65], unsigned int A1[restrict 66][35])
{
    float s0 = 1;
    unsigned char s1 = 1;
#pragma scop
    for (int i = (0 > 0 ? 0 : 0); i < 33; i++) {
        A0[2 * i][1] = h0_0(&A0[2 * i][1], ((A1[i][i + 2] & 63) - 9) % 7, i);
        for (int j = i + 1; j < 33; j++) {
            h0_1(&A0[i + 2][2 * i], ((A0[j + 2][i + 2] & 511) - 9) % 7, j);
            A1[2 * i + 1][i] |= -(s1 & 63);
        }
    }
#pragma endscop
    return 0.0 + s0 + s1;
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
    long count0 = (long)(65) * (long)(65);
    int *A0 = make(count0, sizeof *A0, 0, 2);
    long count1 = (long)(66) * (long)(35);
    unsigned int *A1 = make(count1, sizeof *A1, 1, 2);
    used = 0;
    double value = p0(n, (void *)A0, (void *)A1);
    show("p0.value", n, m, 1, &value, 5);
    show("p0.A0", n, m, count0, A0, 2);
    free(A0);
    show("p0.A1", n, m, count1, A1, 2);
    free(A1);
}

int main(int argc, char **argv)
{
    int which = argc > 1 ? atoi(argv[1]) : -1;
    if (which == 0 && argc > 3)
        run0(atoi(argv[2]), atoi(argv[3]));
    else if (which < 0 || which == 0) {
        run0(0, 3);
    }
    return 0;
}
