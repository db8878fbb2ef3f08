// flags: -O 1 --target emulator --device gtx285
// differs
// steps of statements at fixed places and at twice what loops around them say: code for their hulls was not compared with its order
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char walked[1 << 28]; /* what pointers go through that nothing is read by */
struct record { float x; int v_1; double w; unsigned char c; float v[3]; };

static void note(const char *name, long v) { printf("%s.note %ld\n", name, v); }
static int toint(double x) { return x > -1000 && x < 1000 ? (int)x : 7; }
static int mix(int a, int b) { int t = a ^ b; if (t > 40) t = t / 3; return t + 1; }
static double blend(double a, double b) { return a < b ? 0.5 * a + 0.25 * b : 0.25 * a; }

#define P0_N 5L
#define P0_M 8L
static double G0_A0[2];
static long G0_A1[2 * P0_N + P0_M + 7][2 * P0_N + P0_M + 4];
static unsigned long G0_A3[14];
double p0(short A2[restrict 15])
{
    register long c0 = 8;
    int c1 = 8;
    int c2 = 2;
    register int u3 = 4;
    long c4 = 1;
    register long c5 = 2;
    long c6 = 7;
    int c7 = 5;
    long c8 = 6;
    long c9 = 8;
    int c10 = 8;
#pragma scop
    for (int i = 1; i >= 0; i--) {
        for (int j = P0_M - 1; j >= (0 > 2 ? 0 : 2); j--) {
            int t0[2];
            for (int k = 0; k < 2; k++) {
                c0 = j + i + 2;
                t0[k] = toint(G0_A1[c0][k + j]);
            }
            if (j % 40 * (j % 40) % 3 == 1) c1 = i + j + 2; else { c1 = i + j + 1; c1++; }
            if (i % 40 * (i % 40) % 3 == 1) c2 = i; else { c2 = i - 1; c2++; }
            G0_A0[i] = G0_A1[j + 2][c1] > 0.5 ? t0[c2] : t0[i];
        }
    }
    u3 = (-1) + 0;
    for (int i = -1; i < P0_N - 1; u3 += 1, i++) {
        c4 = i;
        c4 += 1;
        G0_A3[i + 1] ^= (i + 2) == (G0_A1[-i + P0_N + 1][c4] & 511);
        for (int j = i + 3; j > i; j--) {
            c5 = j + 3;
            G0_A3[2 * j + 1] = (G0_A3[2 * j + 1] & 4095) + ((A2[c5] & 255) - 9) % 7;
            if (3 <= 4) {
                c6 = j + 2;
                G0_A1[u3 - j + P0_N + 2][c6] ^= (A2[j] & 511) == (G0_A1[0][0] & 511);
            } else {
                c7 = j;
                c7 += -u3 + P0_N;
                if (i == 3) c8 = j - u3 + P0_N + 1; else { c8 = j - u3 + P0_N; c8++; }
                c9 = j + 1;
                G0_A3[c7] ^= (G0_A1[c8][c9] & 255) - (A2[0] & 511);
            }
            c10 = j;
            c10 += 5;
            A2[2 * i + 4] = (A2[2 * i + 4] & 4095) + (G0_A1[c10][2 * i + 2] & 511);
        }
    }
#pragma endscop
    return 0.0 + c8 + c9;
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
static int signs; /* whether zeros have some */

static void add(double value)
{
    unsigned long long bits;
    value = value == value ? value : 0x1p-1000;
    if (!signs && value == 0)
        value = 0;
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
    long count0 = (long)(2);
    double *A0 = make(count0, sizeof *A0, 0, 5);
    memcpy(G0_A0, A0, count0 * sizeof *A0);
    long count1 = (long)(2 * n + m + 7) * (long)(2 * n + m + 4);
    long *A1 = make(count1, sizeof *A1, 1, 3);
    memcpy(G0_A1, A1, count1 * sizeof *A1);
    long count2 = (long)(15);
    short *A2 = make(count2, sizeof *A2, 2, 1);
    long count3 = (long)(14);
    unsigned long *A3 = make(count3, sizeof *A3, 3, 3);
    memcpy(G0_A3, A3, count3 * sizeof *A3);
    used = 0;
    signs = 1;
    double value = p0((void *)A2);
    show("p0.value", n, m, 1, &value, 5);
    show("p0.A0", n, m, count0, G0_A0, 5);
    free(A0);
    show("p0.A1", n, m, count1, G0_A1, 3);
    free(A1);
    show("p0.A2", n, m, count2, A2, 1);
    free(A2);
    show("p0.A3", n, m, count3, G0_A3, 3);
    free(A3);
}

int main(int argc, char **argv)
{
    int which = argc > 1 ? atoi(argv[1]) : -1;
    if (which == 0 && argc > 3)
        run0(atoi(argv[2]), atoi(argv[3]));
    else if (which < 0 || which == 0) {
        run0(5, 8);
    }
    return 0;
}
