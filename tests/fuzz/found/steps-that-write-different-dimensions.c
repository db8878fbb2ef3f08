// flags: -O 2 --target emulator --device 8800gtx --decide 'p0: steps(i: 4, k: 0, j: 0)' --decide 'p0: split(A0, A1)'
// traceback
// islpy error: tiles of time of arrays, and values kept for a statement, that differ in their dimensions
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record { float x; int v_1; double w; unsigned char c; float v[3]; };

static int toint(double x) { return x > -1000 && x < 1000 ? (int)x : 7; }

static int h0_0(const int *p, long v, int i)
{ int t0 = p[0]; t0 = v; return t0; }

static void h0_1(int A0[10][5][5], int A1[restrict 11][5][5], int i, int j, int k)
{
    for (int l = 3; l >= 1; l--) {
        A1[j][k][l] = h0_0(&A1[j][k][l], (A0[j + 1][k][l] & 63) + (A0[j][k + 1][l + 1] & 31) + (A0[j - 1][k - 1][l] & 15) + (A0[j - 1][k - 1][l] & 7), l);
    }
}

static void h0_2(int A0[10][5][5], int A1[restrict 11][5][5], int i, int k)
{
    for (int l = 3; l >= 1; l--) {
        A0[i][k][l] = (A1[i][k - 1][l] & 63) + (A1[i + 1][k][l] & 31);
    }
}

double p0(int A0[10][5][5], int A1[restrict 11][5][5])
{
#pragma scop
    for (int i = 0; i < 3; i++) {
        if (7 > 1 && 4 > 1) {
            for (int j_k = 0; j_k < (4 - (1)) * (7 - (1)); j_k++) {
                int j = 1 + j_k / (4 - (1));
                int k = 1 + j_k % (4 - (1));
                h0_1(A0, A1, i, j, k);
            }
        }
        for (int j = 6; j >= 1; j--) {
            for (int k = 3; k >= 1; k--)
                h0_2(A0, A1, j, k);
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
    long count0 = (long)(n + 2) * (long)(m + 1) * (long)(m + 1);
    int *A0 = make(count0, sizeof *A0, 0, 2);
    long count1 = (long)(n + 3) * (long)(m + 1) * (long)(m + 1);
    int *A1 = make(count1, sizeof *A1, 1, 2);
    double value = p0((void *)A0, (void *)A1);
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
        run0(8, 4);
    }
    return 0;
}
