// flags: -O 1 --target emulator --device gtx285 --decide 'p0: attend(i: 4)'
// crash: the address of a lane that does nothing, of a wild long, is beyond 64 bits
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

enum { p0_n = 127, p0_m = 32 };
double p0(float A0[restrict 17][16], float A1[restrict 15][15])
{
    int i, j, k, l, d;
    int v0 = 5;
    int c1 = 1;
    long c2 = 8;
    int c3 = 1;
    int c4 = 8;
    long c5 = 0;
    long c6 = 0;
    int c7 = 8;
#pragma scop
    v0 = -1 - 1;
    i = -1;
    while (i <= 6) {
        c1 = i;
        c1 += 1;
        if (A0[i + 2][i + 3] <= A1[2 * i + 2][c1]) {
            if (i >= 1) {
                c2 = 2 * v0 + 4;
                A1[v0 + 2][c2] = A0[2][v0 + 2] - (i + 2);
            } else {
                c3 = v0 + 2;
                if (i % 40 * (i % 40) % 3 == 1) c4 = v0 + 4; else { c4 = v0 + 3; c4++; }
                if (i % 40 * (i % 40) % 3 == 1) c5 = v0 + 2; else { c5 = v0 + 1; c5++; }
                A0[v0 + 2][c3] = 0.25f * A0[c4][0] * A1[c5][0];
            }
        }
        c6 = 2 * v0 + 6;
        c7 = 2 * v0 + 5;
        A0[c6][v0 + 2] *= 0.5f;
        A1[0][v0 + 3] = 0.5f * A1[0][v0 + 3] + 2;
        v0 = i;
        i++;
    }
#pragma endscop
    return 0.0 + c5 + c6;
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
    long count0 = (long)(17) * (long)(16);
    float *A0 = make(count0, sizeof *A0, 0, 4);
    long count1 = (long)(15) * (long)(15);
    float *A1 = make(count1, sizeof *A1, 1, 4);
    used = 0;
    double value = p0((void *)A0, (void *)A1);
    show("p0.value", n, m, 1, &value, 5);
    show("p0.A0", n, m, count0, A0, 4);
    free(A0);
    show("p0.A1", n, m, count1, A1, 4);
    free(A1);
}

int main(int argc, char **argv)
{
    int which = argc > 1 ? atoi(argv[1]) : -1;
    if (which == 0 && argc > 3)
        run0(atoi(argv[2]), atoi(argv[3]));
    else if (which < 0 || which == 0) {
        run0(127, 32);
    }
    return 0;
}
