// flags: -O 1 --target emulator --device generic --decide 'p0: sequential(j)'
// slow
// traceback
// AssertionError: a tile by itself and loops over others declared the same names in one scope
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char walked[1 << 28]; /* what pointers go through that nothing is read by */
struct record { float x; int v_1; double w; unsigned char c; float v[3]; };

static int toint(double x) { return x > -1000 && x < 1000 ? (int)x : 7; }
static int mix(int a, int b) { int t = a ^ b; if (t > 40) t = t / 3; return t + 1; }
static double blend(double a, double b) { return a < b ? 0.5 * a + 0.25 * b : 0.25 * a; }

static struct { int unused; float A2[5][3]; } G0_A2;
struct inner0 { float unused; int n, two_n; int m, two_m; int last; };
struct held0 { int n, two_n; int m, two_m; int one, two; struct inner0 inner; float *A0; };
static void h0_0(float *p, float v, int i)
{ if (i > 4) goto end; p[0] += v; end: if (v > 9) p[0] = i; }

static void h0_1(float *p, float v, int i)
{ (*p) = v; }

static void h0_2(float *p, float v, int i)
{ p[0] = 0.5f * p[0] + v; }

double p0(int n, int m, float *restrict A0, float A1[restrict n + m + 2], float A3[restrict m + 2][n + 1], struct held0 *h, struct inner0 v, const int *dims, const int *at_n, const int *at_m)
{
#pragma scop
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < (h->two_n / h->two); j++) {
            A1[0] = 0;
        }
        for (int j = 1; j < (h->two_n / h->two); j++) {
            A0[j] = 0.5f * A1[j - 1] + 0.25f * A1[j] + 0.125f * A1[j];
        }
    }
    for (int i = 1; i < (h->two_m / h->two) + 2; i++) {
        for (int j = 1; j < (h->two_n / h->two) - 1; j++) {
            G0_A2.A2[i][j + 1] = 0.5f * A3[i][0] + 0.25f * G0_A2.A2[i][j];
            h0_0(&A1[i], 0.5f * A0[i], j);
        }
        for (int j = 1; j < (h->two_n / h->two) - 1; j++) {
            A1[i] = 0.5f * A3[i - 1][0] + 0.25f * A3[i][j + 1] + 0.125f * G0_A2.A2[i][j];
            h0_1(&A1[j - 1], 0.5f * A3[i][j] + 0.25f * A3[i][0] + 0.125f * A0[i], j);
        }
        for (int j = 1; j < (h->two_n / h->two) - 1; j++) {
            h0_2(&A1[i], 0.5f * A0[i], j);
        }
        G0_A2.A2[i][0] += 0.0625f * (0.5f * G0_A2.A2[i][0]);
        A1[i] += 0.0625f * (0.5f * A0[i] + 0.25f * A3[i][0]);
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
    long count0 = (long)(n + m + 2);
    float *A0 = make(count0, sizeof *A0, 0, 4);
    long count1 = (long)(n + m + 2);
    float *A1 = make(count1, sizeof *A1, 1, 4);
    long count2 = (long)(5) * (long)(3);
    float *A2 = make(count2, sizeof *A2, 2, 4);
    memcpy(G0_A2.A2, A2, count2 * sizeof *A2);
    long count3 = (long)(m + 2) * (long)(n + 1);
    float *A3 = make(count3, sizeof *A3, 3, 4);
    used = 0;
    struct held0 held = { .one = 1, .two = 2 };
    int dims[] = { n, m, 1 };
    held.n = held.inner.n = n; held.two_n = 2 * (int)n;
    held.m = held.inner.m = m; held.two_m = 2 * (int)m;
    held.A0 = A0;
    double value = p0(n, m, (void *)A0, (void *)A1, (void *)A3, &held, held.inner, dims, &held.n, &held.m);
    show("p0.value", n, m, 1, &value, 5);
    show("p0.A0", n, m, count0, A0, 4);
    free(A0);
    show("p0.A1", n, m, count1, A1, 4);
    free(A1);
    show("p0.A2", n, m, count2, G0_A2.A2, 4);
    free(A2);
    show("p0.A3", n, m, count3, A3, 4);
    free(A3);
}

int main(int argc, char **argv)
{
    int which = argc > 1 ? atoi(argv[1]) : -1;
    if (which == 0 && argc > 3)
        run0(atoi(argv[2]), atoi(argv[3]));
    else if (which < 0 || which == 0) {
        run0(2, 3);
    }
    return 0;
}

