// flags: -O 0 --target emulator --device gtx285
// traceback
// AssertionError: instances taken apart declared a local where another of its name was known
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record { float x; int v_1; double w; unsigned char c; float v[3]; };

static int toint(double x) { return x > -1000 && x < 1000 ? (int)x : 7; }

static void h0_0(unsigned char *p, long v, int i)
{ if (v < 5) { (*p) = v; return; } (*p) ^= v; }

static int h0_1(const int *p, int v, int i)
{ return p[0] > v ? p[0] : v; }

static void h0_2(unsigned int *p, long v, int i)
{ p[0] = v; }

double p0(unsigned char A0[restrict 47][41], int *restrict A1)
{
    unsigned int s0 = 1;
    int i, j, k, l, d;
#pragma scop
    for (i = (0 > 0 ? 0 : 0); i < 16; i++) {
        for (j = 0; j < 6; j++) {
            s0 = (s0 & 4095) + (A1[j + i] & 511) - (A1[4] & 63);
            for (k = -1; k < i; k += 2) {
                h0_0(&A0[i][2 * j], (A1[j] & 511), k);
            }
        }
    }
#pragma endscop
#pragma scop
    for (i = 0; i < 15; i++) {
        float t1 = A0[i + 1][(A1[0] & 7)] - A0[-i + 15][(A1[2 * i] & 7)];
        for (j = 14; j > i; j--) {
            for (k = 14; k >= 1; k--) {
                A1[2] = h0_1(&A1[2], (A1[j + k - 1] & 511), k);
                A1[i] = (8) ^ (A0[i + j + 1][k - j + 14] & 255);
                h0_2(&s0, (k + 2), k);
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
    long count0 = (long)(2 * n + m + 1) * (long)(2 * n + 11);
    unsigned char *A0 = make(count0, sizeof *A0, 0, 0);
    long count1 = (long)(2 * n + m + 6);
    int *A1 = make(count1, sizeof *A1, 1, 2);
    double value = p0((void *)A0, (void *)A1);
    show("p0.value", n, m, 1, &value, 5);
    show("p0.A0", n, m, count0, A0, 0);
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
        run0(15, 16);
    }
    return 0;
}
