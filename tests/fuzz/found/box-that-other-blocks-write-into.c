// flags: -O 1 --target emulator --device 8800gtx
// check
// fuzz.c:49:17: error: race between blocks: write of 'A1[((2 * k + 1) * (2 * 4 + 2) + 1) * (4 + 2) + (-k + 4 - 1)]' as A1[119 * k + 69] (offset 307) by thread (2,2,0) of block (0,1,0), kernel p0_0_k0, stage 2
// fuzz.c:49:17: error: race between blocks: write of 'A1[((2 * k + 1) * (2 * 4 + 2) + 1) * (4 + 2) + (-k + 4 - 1)]' as A1[119 * k + 69] (offset 307) by thread (2,2,0) of block (0,1,0), kernel p0_0_k0, stage 2
// fuzz.c:49:17: error: race between blocks: write of 'A1[((2 * k + 1) * (2 * 4 + 2) + 1) * (4 + 2) + (-k + 4 - 1)]' as A1[119 * k + 69] (offset 307) by thread (2,2,0) of block (0,1,0), kernel p0_0_k0, stage 2
// polygpu: 22 problems found while checking
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record { float x; int k; double w; unsigned char c; };

static int toint(double x) { return x > -1000 && x < 1000 ? (int)x : 7; }
static int mix(int a, int b) { int t = a ^ b; if (t > 40) t = t / 3; return t + 1; }
static double blend(double a, double b) { return a < b ? 0.5 * a + 0.25 * b : 0.25 * a; }

#define P0_N 4
#define P0_M 4
static unsigned int G0_A0[2 * P0_M + 2];
double p0(unsigned long *restrict A1)
{
    double s0 = 1;
    unsigned char s1 = 1;
    int c0 = 5;
    int u1 = 6;
    long c2 = 6;
    int c3 = 3;
    long c4 = 8;
    unsigned long *q5;
    int c6 = 2;
    int c7 = 8;
#pragma scop
    {
    int i = 2;
    while (i < P0_M) {
        {
        int j = (P0_M - 1 < P0_M - 1 ? P0_M - 1 : P0_M - 1);
        while (j >= 0) {
            if (j == 3) c0 = 2 * j + 1; else { c0 = 2 * j; c0++; }
            G0_A0[i] = (G0_A0[i] & 255) > 30 ? (G0_A0[c0] & 63) : 5;
            for (int k = j; k < P0_M; k += 2) {
                u1 = (P0_N - i) + -1;
                {
                int l = P0_N - i;
                while (l <= P0_N - i - 1) {
                    int t0 = (l + 2);
                    G0_A0[0] += -(G0_A0[k + 2] & 255);
                    c2 = j;
                    G0_A0[k + j + 1] = (G0_A0[k + j + 1] & 4095) + (G0_A0[c2] & 63) ^ (G0_A0[k + 1] & 511);
                    u1++;
                    l++;
                }
                }
                A1[((2 * k + 1) * (2 * P0_M + 2) + 1) * (P0_M + 2) + (-k + P0_M - 1)] -= (G0_A0[2 * k] & 511) % 5;
            }
            c3 = j + 1;
            c4 = i - 1;
            q5 = A1 + (((c3) * (2 * P0_M + 2) + 2 * i + 1) * (P0_M + 2) + c4);
            c6 = 2 * i + 2;
            if (j % 40 * (j % 40) % 3 == 1) c7 = j + 1; else { c7 = j; c7++; }
            (*q5) ^= (A1[((c6) * (2 * P0_M + 2) + c7) * (P0_M + 2) + 1] & 255) ^ (A1[((j + 2) * (2 * P0_M + 2) + j) * (P0_M + 2) + i] & 255);
            j--;
        }
        }
        i++;
    }
    }
#pragma endscop
    return 0.0 + s0 + s1 + c6;
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
    long count0 = (long)(2 * m + 2);
    unsigned int *A0 = make(count0, sizeof *A0, 0, 2);
    memcpy(G0_A0, A0, count0 * sizeof *A0);
    long count1 = (long)(2 * m + 2) * (long)(2 * m + 2) * (long)(m + 2);
    unsigned long *A1 = make(count1, sizeof *A1, 1, 3);
    used = 0;
    double value = p0((void *)A1);
    show("p0.value", n, m, 1, &value, 5);
    show("p0.A0", n, m, count0, G0_A0, 2);
    free(A0);
    show("p0.A1", n, m, count1, A1, 3);
    free(A1);
}

int main(int argc, char **argv)
{
    int which = argc > 1 ? atoi(argv[1]) : -1;
    if (which == 0 && argc > 3)
        run0(atoi(argv[2]), atoi(argv[3]));
    else if (which < 0 || which == 0) {
        run0(4, 4);
    }
    return 0;
}
