// flags: -O 1 --target emulator --device generic
// check
// fuzz.c:19:13: error: race between two barriers: write of 'h->A0[(i + 1) * 99 + 2]' as h_A0[99 * i_in + 101] (offset 6932) by thread (0,0,0) and thread (19,0,0) of block (0,0,0), kernel p0_0_k0, stage 2
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record { float x; int k; double w; unsigned char c; };

static int toint(double x) { return x > -1000 && x < 1000 ? (int)x : 7; }
static int mix(int a, int b) { int t = a ^ b; if (t > 40) t = t / 3; return t + 1; }
static double blend(double a, double b) { return a < b ? 0.5 * a + 0.25 * b : 0.25 * a; }

static int G0_A1[194][195];
struct inner0 { float unused; int last; };
struct held0 { int one, two; struct inner0 inner; int *A0; };
double p0(int *restrict A0, struct held0 *h, struct inner0 v, const int *dims)
{
    for (int i = 0; i < 95; i++) {
        if ((G0_A1[2 * i][i] & 1023) > (h->A0[(i + 1) * 99 + 0] & 1023)) {
            h->A0[(i + 1) * 99 + 2] = 3;
            if (i < 1 || i > 3) {
                if ((i + 2) <= G0_A1[i][i]) {
                    if (h->A0[(-i + 96) * 99 + i + 2] < h->A0[(i) * 99 + 2] && h->A0[(i) * 99 + 2] != 3) {
                        h->A0[(i) * 99 + 0] = (G0_A1[-i + 96][2] & 255);
                    } else {
                        G0_A1[i][1] = (G0_A1[i][1] & 4095) + ((G0_A1[2 * i + 2][i] & 511) - 20) / 3;
                    }
                } else {
                    G0_A1[1][2 * i] = (G0_A1[1][2 * i] & 4095) + (G0_A1[i][2 * i + 1] & 511) >> 1;
                    if (!(h->A0[(2 * i + 2) * 99 + i] < h->A0[(i) * 99 + i + 2])) {
                        G0_A1[i + 1][2 * i] = (G0_A1[i + 1][2 * i] & 4095) + mix((h->A0[(i) * 99 + i + 1] & 63), (G0_A1[i + 1][i + 1] & 255));
                    }
                }
            }
            G0_A1[2 * i + 1][i] = (G0_A1[i][i] & 255) / 3;
        }
    }
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
    long count0 = (long)(2 * n + 1) * (long)(n + 3);
    int *A0 = make(count0, sizeof *A0, 0, 2);
    long count1 = (long)(2 * n + 2) * (long)(2 * n + 3);
    int *A1 = make(count1, sizeof *A1, 1, 2);
    memcpy(G0_A1, A1, count1 * sizeof *A1);
    used = 0;
    struct held0 held = { .one = 1, .two = 2 };
    int dims[] = { 1 };
    held.A0 = A0;
    double value = p0((void *)A0, &held, held.inner, dims);
    show("p0.value", n, m, 1, &value, 5);
    show("p0.A0", n, m, count0, A0, 2);
    free(A0);
    show("p0.A1", n, m, count1, G0_A1, 2);
    free(A1);
}

int main(int argc, char **argv)
{
    int which = argc > 1 ? atoi(argv[1]) : -1;
    if (which == 0 && argc > 3)
        run0(atoi(argv[2]), atoi(argv[3]));
    else if (which < 0 || which == 0) {
        run0(96, 96);
    }
    return 0;
}
