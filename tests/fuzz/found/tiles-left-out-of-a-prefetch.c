// flags: --target emulator --device generic --proof 12
// slow
// certificate
// p0_0_k1: reads another element than the source; element A1[20][7], not A1[1][7]; where m=8, n=2
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record { float x; int k; double w; unsigned char c; };

static int toint(double x) { return x > -1000 && x < 1000 ? (int)x : 7; }
static int mix(int a, int b) { int t = a ^ b; if (t > 40) t = t / 3; return t + 1; }
static double blend(double a, double b) { return a < b ? 0.5 * a + 0.25 * b : 0.25 * a; }

static char G0_A0[12][13];
double p0(int n, int m, double A1[restrict n + 2 * m + 3][n + m + 2], double A2[m + 4][m + 3])
{
    int i, j, k, l;
#pragma scop
    for (i = 0; i < m; i++) {
        A1[i][i] += 0.5 * A1[i][0] + 0.25 * A1[i][i] + 0.125 * 8;
        for (j = -1; j < i + 4; j += 3) {
            for (k = n - 1; k >= -1; k--) {
                for (l = k + 1; l < j; l += 2) {
                    if (l >= i) {
                        A2[l + 1][l + 1] = 0.5 * A1[k + 1][l];
                    } else {
                        G0_A0[i][j + 1] = ((G0_A0[l + 1][-l + m + 1] & 255) - 20) / 3;
                    }
                    A1[k + 1][0] -= 0.125 * (A2[j + 1][l] - A1[2 * l][k + 1]);
                }
            }
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
    long count0 = 12 * 13;
    char *A0 = make(count0, sizeof *A0, 0, 0);
    memcpy(G0_A0, A0, count0 * sizeof *A0);
    long count1 = (long)(n + 2 * m + 3) * (long)(n + m + 2);
    double *A1 = make(count1, sizeof *A1, 1, 5);
    long count2 = (long)(m + 4) * (long)(m + 3);
    double *A2 = make(count2, sizeof *A2, 2, 5);
    double value = p0(n, m, (void *)A1, (void *)A2);
    show("p0.value", n, m, 1, &value, 5);
    show("p0.A0", n, m, count0, G0_A0, 0);
    free(A0);
    show("p0.A1", n, m, count1, A1, 5);
    free(A1);
    show("p0.A2", n, m, count2, A2, 5);
    free(A2);
}

int main(int argc, char **argv)
{
    int which = argc > 1 ? atoi(argv[1]) : -1;
    if (which == 0 && argc > 3)
        run0(atoi(argv[2]), atoi(argv[3]));
    else if (which < 0 || which == 0) {
        run0(0, 0); run0(1, 2); run0(5, 3); run0(7, 9);
    }
    return 0;
}
