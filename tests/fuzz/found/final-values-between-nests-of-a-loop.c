// flags: -O 2 --target emulator --device h100 --reassociate --decide 'p0: texture(G0_A1)' --assume n=7
// certificate
// the copy of final values was held against one before the loop, a later kernel of which stores other elements
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record { float x; int v_1; double w; unsigned char c; float v[3]; };

static int toint(double x) { return x > -1000 && x < 1000 ? (int)x : 7; }

static float G0_A1[11];
static void h0_0(float *p, float v, int i)
{ if (v < 5) { p[0] = v; return; } p[0] = v; }

static void h0_1(double *p, double v, int i)
{ if (i > 4) goto end; p[0] += v; end: if (v > 9) p[0] = i; }

double p0(int n, int m, double A0[restrict n + 3])
{
#pragma scop
    for (int i = 2; i < n - 1; i += 3) {
        for (int j = i; j >= 1; j--) {
            G0_A1[0] = G0_A1[0] - 3;
        }
        h0_0(&G0_A1[2 * i], A0[i + 1], i);
    }
    for (int i = m - 1; i >= 0; i--) {
        for (int j = i; j < i && j < n; j++) {
            h0_1(&A0[2], ((struct record){ .w = toint(8 * 2) }).w, j);
            G0_A1[i - j + m - 1] = 3;
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
    long count0 = (long)(n + 3);
    double *A0 = make(count0, sizeof *A0, 0, 5);
    long count1 = (long)(11);
    float *A1 = make(count1, sizeof *A1, 1, 4);
    memcpy(G0_A1, A1, count1 * sizeof *A1);
    double value = p0(n, m, (void *)A0);
    show("p0.value", n, m, 1, &value, 5);
    show("p0.A0", n, m, count0, A0, 5);
    free(A0);
    show("p0.A1", n, m, count1, G0_A1, 4);
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
