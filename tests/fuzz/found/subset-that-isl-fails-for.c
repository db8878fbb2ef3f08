// flags: -O 0 --target emulator --device 8800gtx --decide 'p0: constant(G0_A0)' --decide 'p0: texture()'
// traceback
// islpy error: an assertion of isl's fails where sets with several moduli are compared
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record { float x; int v_1; double w; unsigned char c; float v[3]; };

static int toint(double x) { return x > -1000 && x < 1000 ? (int)x : 7; }

enum { p0_n = 9, p0_m = 31 };
static unsigned char G0_A0[2 * p0_m + 7][p0_m + 4][2 * p0_m + 8];
static int beside[31];
static void compiled(void)
{
    for (int i = 0; i < 31; i++)
        beside[i] = 3 * i;
}

double p0(void)
{
    int i, j, k, l, d;
    long c0 = 1;
    int v1 = 2;
    long c2 = 3;
    int c3 = 1;
    long c4 = 4;
    long c5 = 1;
    int c6 = 1;
    int c7 = 6;
    i = 0;
    while (i < p0_m) {
        c0 = i;
        double t0 = 2 < G0_A0[0][c0][i + 1] ? 2 : 0.5 * G0_A0[0][c0][i + 1];
        v1 = i + 3 - -2;
        for (j = i + 3; j >= i; j -= 2) {
            if (j % 40 * (j % 40) % 3 == 1) c2 = j; else { c2 = j - 1; c2++; }
            int t1 = -(G0_A0[2 * i][i][c2] & 255);
            if (j == 3) c3 = j; else { c3 = j - 1; c3++; }
            unsigned char t2 = (G0_A0[4][j][c3] & 63) > 30 ? (2) : 5;
            c6 = j + 1;
            if (j % 40 * (j % 40) % 3 == 1) c7 = i; else { c7 = i - 1; c7++; }
            for (int t3 = (G0_A0[j - i + p0_m + 1][j][c6] & 3); t3 < (G0_A0[j][j][c7] & 7); t3 += 2) {
                t2 = (t2 & 1023) + (G0_A0[2][i][(t3 & 7)] & 255);
                c4 = 2 * j;
                if (G0_A0[j + 2][j + 1][(t3 & 7)] > G0_A0[c4][i + 2][i - j + p0_m + 2]) {
                    c5 = i;
                    c5 += 0;
                    t2 ^= (G0_A0[i + 1][c5][(t3 * 3 & 7)] & 255);
                    continue;
                }
                t2 ^= (G0_A0[2 * v1 - 2][i][(t3 & 7)] & 255);
            }
            G0_A0[j + i][i + 2][i + 1] ^= t2;
            v1 = j;
        }
        i++;
    }
    return 0.0 + c3 + c6;
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
    long count0 = (long)(2 * m + 7) * (long)(m + 4) * (long)(2 * m + 8);
    unsigned char *A0 = make(count0, sizeof *A0, 0, 0);
    memcpy(G0_A0, A0, count0 * sizeof *A0);
    compiled();
    double value = beside[30] + p0();
    show("p0.value", n, m, 1, &value, 5);
    show("p0.A0", n, m, count0, G0_A0, 0);
    free(A0);
}

int main(int argc, char **argv)
{
    int which = argc > 1 ? atoi(argv[1]) : -1;
    if (which == 0 && argc > 3)
        run0(atoi(argv[2]), atoi(argv[3]));
    else if (which < 0 || which == 0) {
        run0(9, 31);
    }
    return 0;
}
