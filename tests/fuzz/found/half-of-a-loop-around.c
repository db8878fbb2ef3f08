// flags: --target emulator --device gtx285 --assume m=5
// slow
// a store before the one that it follows in the source
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record { float x; int k; double w; unsigned char c; };

static int toint(double x) { return x > -1000 && x < 1000 ? (int)x : 7; }
static int mix(int a, int b) { int t = a ^ b; if (t > 40) t = t / 3; return t + 1; }
static double blend(double a, double b) { return a < b ? 0.5 * a + 0.25 * b : 0.25 * a; }

double p0(int n, int m, int w1_A0, float *restrict A0)
{
    long s0 = 1;
    int i, j, k, l;
#pragma scop
    for (i = 2; i <= 2; i += 2) {
        for (j = 0; j < 9; j++) {
            for (k = 0; k < m; k++) {
                A0[(k) * w1_A0 + i - j + 6] += 0.0625f * (fmaxf((i + 2), 0.5f));
                if (i != 3) {
                    A0[(i - 1) * w1_A0 + i] = s0 + 0.5f * A0[(k) * w1_A0 + 2 * k];
                } else {
                    A0[(i) * w1_A0 + j + i + 1] = 0.5f * 4 + 0.25f * A0[(j + 1) * w1_A0 + k + 2];
                }
                A0[(-i + 3) * w1_A0 + k + j] = sqrtf(fabsf(A0[(2 * j) * w1_A0 + j + k]));
            }
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

static void run0(int n, int m)
{
    long count0 = (long)(m + 17) * (long)(2 * m + 12);
    float *A0 = make(count0, sizeof *A0, 0, 4);
    double value = p0(n, m, 2 * m + 12, (void *)A0);
    show("p0.value", n, m, 1, &value, 5);
    show("p0.A0", n, m, count0, A0, 4);
    free(A0);
}

int main(int argc, char **argv)
{
    int which = argc > 1 ? atoi(argv[1]) : -1;
    if (which == 0 && argc > 3)
        run0(atoi(argv[2]), atoi(argv[3]));
    else if (which < 0 || which == 0) {
        run0(0, 0); run0(1, 2); run0(7, 5); run0(16, 16);
    }
    return 0;
}
