// flags: -O 2 --target emulator --device h100 --decide 'p0: pad(A2: 1)'
// slow
// certificate
// instances of a loop over tiles were claimed with the only value of a step of the same name before it
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record { float x; int v_1; double w; unsigned char c; float v[3]; };

static int toint(double x) { return x > -1000 && x < 1000 ? (int)x : 7; }

enum { p0_n = 32, p0_m = 32 };
double p0(float A0[p0_n + 2 * p0_m + 5][2 * p0_n + 2 * p0_m + 3], double A1[restrict 2 * p0_n + 1][p0_n + 1], short *restrict A2)
{
    long v0 = 6;
    int c1 = 3;
    long c2 = 4;
    int u3 = 1;
    short *q4;
    int v5 = 7;
    int c6 = 2;
    short *q7;
    long c8 = 6;
    long c9 = 8;
    long c10 = 2;
    long c11 = 5;
    int c12 = 6;
#pragma scop
    {
    long i = p0_n - 1;
    while (i >= 2) {
        v0 = 0 - 3;
        for (long j = 0; j <= i; j += 3) {
            if (i != i) {
                c1 = i;
                c1 += 0;
                A0[j][i] *= 0.5f;
            }
            v0 = j;
        }
        if (A2[(2 * i) * (2 * p0_n + 2 * p0_m + 4) + 0] > (i + 2)) {
            c2 = 2 * i;
            c2 += -1;
            A2[(-i + p0_n + 1) * (2 * p0_n + 2 * p0_m + 4) + c2] = ~(i + 2);
        }
        i--;
    }
    }
    u3 = -(p0_m - 1) + -2;
    {
    int i = p0_m - 1;
    while (i > -1) {
        q4 = A2 + ((-u3 - 2) * (2 * p0_n + 2 * p0_m + 4) + 1);
        unsigned char t0 = ((*q4) & 511) ^ (A2[(2) * (2 * p0_n + 2 * p0_m + 4) + u3 + p0_m + 3] & 511);
        v5 = 2 - 1;
        {
        int j = 2;
        while (j < i + 4) {
            c6 = i;
            q7 = A2 + ((c6) * (2 * p0_n + 2 * p0_m + 4) + v5 + 1);
            if (i % 40 * (i % 40) % 3 == 1) c8 = 2 * v5 + 1; else { c8 = 2 * v5; c8++; }
            A0[0][2 * i] += 0.5f * (*q7) + 0.25f * A2[(v5 - i + p0_m + 1) * (2 * p0_n + 2 * p0_m + 4) + c8] + 0.125f * (j + 2);
            if (i < 3) c9 = 2 * v5 + 2; else { c9 = 2 * v5 + 1; c9++; }
            c10 = v5;
            c10 += u3 + p0_m + 3;
            if (j == 3) c11 = -u3 - 2; else { c11 = -u3 - 3; c11++; }
            A0[c9][c10] = 0.5f * A0[c9][c10] + 0.5f * A0[v5 - 1][c11] + 0.25f * A0[0][v5 - u3 - 2] + 0.125f * t0;
            if (j < 3) c12 = -2 * u3 - 4; else { c12 = -2 * u3 - 5; c12++; }
            t0 |= toint((i + 2));
            v5 = j;
            j++;
        }
        }
        u3++;
        i--;
    }
    }
#pragma endscop
    return 0.0 + c2 + u3 + v5 + c8 + c9 + c10 + c11;
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
    long count0 = (long)(n + 2 * m + 5) * (long)(2 * n + 2 * m + 3);
    float *A0 = make(count0, sizeof *A0, 0, 4);
    long count1 = (long)(2 * n + 1) * (long)(n + 1);
    double *A1 = make(count1, sizeof *A1, 1, 5);
    long count2 = (long)(2 * n + 2 * m + 3) * (long)(2 * n + 2 * m + 4);
    short *A2 = make(count2, sizeof *A2, 2, 1);
    double value = p0((void *)A0, (void *)A1, (void *)A2);
    show("p0.value", n, m, 1, &value, 5);
    show("p0.A0", n, m, count0, A0, 4);
    free(A0);
    show("p0.A1", n, m, count1, A1, 5);
    free(A1);
    show("p0.A2", n, m, count2, A2, 1);
    free(A2);
}

int main(int argc, char **argv)
{
    int which = argc > 1 ? atoi(argv[1]) : -1;
    if (which == 0 && argc > 3)
        run0(atoi(argv[2]), atoi(argv[3]));
    else if (which < 0 || which == 0) {
        run0(32, 32);
    }
    return 0;
}
