// flags: -O 2 --target emulator --device h100
// hang
// a version of what several lines of a flat array may happen to share: isl takes for ever for its ends
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record { float x; int v_1; double w; unsigned char c; float v[3]; };

static int toint(double x) { return x > -1000 && x < 1000 ? (int)x : 7; }

struct inner0 { float unused; int n, two_n; int m, two_m; int last; };
struct held0 { int n, two_n; int m, two_m; int one, two; struct inner0 inner; unsigned long *A1; unsigned char *A2; };
double p0(int n, int m, int A0[restrict 1][1][2], unsigned long *restrict A1, unsigned char *restrict A2, struct held0 *h, struct inner0 v, const int *dims, const int *at_n, const int *at_m)
{
    long s0 = 1;
#pragma scop
    for (long i = 0; i < h->m; i++) {
        h->A2[((i + 1) * 65 + i) * 34 + i] = 1;
        for (int j = 0; j < i + 1; j++) {
            h->A2[((i + 1) * 65 + i) * 34 + i] += 15 & ((h->A2[((j) * 65 + 2 * i + 1) * 34 + j] & 63));
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

static void run0(int n, int m)
{
    long count0 = (long)(1) * (long)(1) * (long)(2);
    int *A0 = make(count0, sizeof *A0, 0, 2);
    long count1 = (long)(1);
    unsigned long *A1 = make(count1, sizeof *A1, 1, 3);
    long count2 = (long)(33) * (long)(65) * (long)(34);
    unsigned char *A2 = make(count2, sizeof *A2, 2, 0);
    struct held0 held = { .one = 1, .two = 2 };
    int dims[] = { n, m, 1 };
    held.n = held.inner.n = n; held.two_n = 2 * (int)n;
    held.m = held.inner.m = m; held.two_m = 2 * (int)m;
    held.A1 = A1;
    held.A2 = A2;
    double value = p0(n, m, (void *)A0, (void *)A1, (void *)A2, &held, held.inner, dims, &held.n, &held.m);
    show("p0.value", n, m, 1, &value, 5);
    show("p0.A0", n, m, count0, A0, 2);
    free(A0);
    show("p0.A1", n, m, count1, A1, 3);
    free(A1);
    show("p0.A2", n, m, count2, A2, 0);
    free(A2);
}

int main(int argc, char **argv)
{
    int which = argc > 1 ? atoi(argv[1]) : -1;
    if (which == 0 && argc > 3)
        run0(atoi(argv[2]), atoi(argv[3]));
    else if (which < 0 || which == 0) {
        run0(0, 0); run0(1, 0); run0(2, 3); run0(7, 5); run0(32, 32);
    }
    return 0;
}
