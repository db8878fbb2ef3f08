// flags: --target emulator --device generic --proof 0.3
// differs
// p0.A1
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record { float x; int k; double w; unsigned char c; };

static int toint(double x) { return x > -1000 && x < 1000 ? (int)x : 7; }
static int mix(int a, int b) { int t = a ^ b; if (t > 40) t = t / 3; return t + 1; }
static double blend(double a, double b) { return a < b ? 0.5 * a + 0.25 * b : 0.25 * a; }

double p0(int n, int m, short A0[restrict 2 * m + 1][2 * m + 2], int A1[restrict m + 1][m + 1])
{
#pragma scop
    for (int i = 0; i < m; i += 3) {
        for (int j = m - 1; j > -1; j--) {
            A0[j + 1][2 * j] = 0;
            A0[i + 1][j] = 0;
            A1[j][i] ^= ~(A0[j + i][i + 2] & 255);
        }
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
    long count0 = (long)(2 * m + 1) * (long)(2 * m + 2);
    short *A0 = make(count0, sizeof *A0, 0, 1);
    long count1 = (long)(m + 1) * (long)(m + 1);
    int *A1 = make(count1, sizeof *A1, 1, 2);
    double value = p0(n, m, (void *)A0, (void *)A1);
    show("p0.value", n, m, 1, &value, 5);
    show("p0.A0", n, m, count0, A0, 1);
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
        run0(2, 3);
    }
    return 0;
}
