// flags: -O 1 --target emulator --device 8800gtx --assume m=31
// certificate
// With m known, which element is added to is an affine form, of which no test said that it is in the array where
// threads have copies of that: the certificate met chosen1 = -8, for which C defines nothing.

#include <assert.h>
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char walked[1 << 28]; /* what pointers go through that nothing is read by */
struct record { float x; int v_1; double w; unsigned char c; float v[3]; };

double p0(int n, int m, long A0[2 * n + m + 5], long A1[restrict 2 * n + 2 * m + 4], float A2[1][1][1], char A3[restrict 2 * n + 2 * m + 2])
{
    int chosen1;
    if (n < 5000) { chosen1 = 1; } else chosen1 = 3;
    long s0 = 1;
    float s1 = 1;
#pragma scop
    if (n - chosen1 > 0 && m + 2 > 2) {
        for (int i_j = 0; i_j < (n - chosen1) * (m + 2 - (2)); i_j++) {
            int i = 0 + i_j / (m + 2 - (2));
            int j = 2 + i_j % (m + 2 - (2));
            at37:
            s0 = (s0 & 4095) + (A3[0] & 511) % 5;
            at38:
            if (j > n - 2) {
                A1[i + chosen1] += (((j + 2) - 9) % 7) & 15;
            }
            at40:
            if ((A0[j + i - chosen1] & 1023) > (s0 & 1023)) {
                at42:
                s0 = (s0 & 4095) + (s0 & 255) >> 1;
            }
        }
    }
#pragma endscop
    return 0.0 + s0 + s1;
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
        case 7: ((float _Complex *)made)[t] = CMPLXF(bits / 65536.0f, 0.75f - bits / 131072.0f); break;
        case 8: ((double _Complex *)made)[t] = CMPLX(bits / 65536.0, 0.75 - bits / 131072.0); break;
        default: ((struct record *)made)[t] = (struct record){ bits / 65536.0f, bits, bits / 65536.0, bits,
            { bits / 131072.0f, 1, bits / 32768.0f } };
        }
        t++;
    }
    return made;
}

static unsigned long long hash;
static int signs; /* whether zeros have some */

static void add(double value)
{
    unsigned long long bits;
    value = value == value ? value : 0x1p-1000;
    if (!signs && value == 0)
        value = 0;
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
        case 7: add(((float *)made)[2 * t]); add(((float *)made)[2 * t + 1]); break;
        case 8: add(((double *)made)[2 * t]); add(((double *)made)[2 * t + 1]); break;
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
    long count0 = (long)(2 * n + m + 5);
    long *A0 = make(count0, sizeof *A0, 0, 3);
    long count1 = (long)(2 * n + 2 * m + 4);
    long *A1 = make(count1, sizeof *A1, 1, 3);
    long count2 = (long)(1) * (long)(1) * (long)(1);
    float *A2 = make(count2, sizeof *A2, 2, 4);
    long count3 = (long)(2 * n + 2 * m + 2);
    char *A3 = make(count3, sizeof *A3, 3, 0);
    used = 0;
    signs = 1;
    double value = p0(n, m, (void *)A0, (void *)A1, (void *)A2, (void *)A3);
    show("p0.value", n, m, 1, &value, 5);
    show("p0.A0", n, m, count0, A0, 3);
    free(A0);
    show("p0.A1", n, m, count1, A1, 3);
    free(A1);
    show("p0.A2", n, m, count2, A2, 4);
    free(A2);
    show("p0.A3", n, m, count3, A3, 0);
    free(A3);
}

int main(int argc, char **argv)
{
    int which = argc > 1 ? atoi(argv[1]) : -1;
    if (which == 0 && argc > 3)
        run0(atoi(argv[2]), atoi(argv[3]));
    else if (which < 0 || which == 0) {
        run0(0, 0); run0(1, 0); run0(2, 3); run0(7, 5); run0(33, 16); run0(33, 31);
    }
    return 0;
}
