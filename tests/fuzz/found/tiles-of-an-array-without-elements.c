// flags: -O 2 --target emulator --device gtx285
// slow
// certificate
// tiles of a kernel with two parities of steps, visited for m = 0, too, where the array that they copy has no element
#include <stdio.h>

static char g[162];

static char larger(const char *p, char v)
{ return *p > v ? *p : v; }

static double large(const double *p, double v)
{ if (v > 2) return v; return p[0]; }

static void maybe(char *p, int v, int i)
{ char t0 = *p; if (i % 2 == 0) t0 = v; else if (i == 3) return; *p = t0; }

void f(int n, int m, double *restrict a, unsigned long *restrict b, double c[restrict 292])
{
#pragma scop
    for (int i = 1; i < n; i++)
        for (int j = m - 1; j >= 0; j -= 2) {
            g[i] = 5;
            b[i * 177 + j] = 0;
            g[i] = larger(&g[i], ~5);
            a[i] = large(&a[i], c[j] < 2 ? c[j] : 0.5);
            maybe(&g[i], j, j);
            a[i] += j;
        }
    for (int i = 1; i < m + 2; i++) {
        int t = (i + 2) * 1000;
        for (int j = 0; j < n - i; j += 3) {
            b[j * 177 + j + 2] = (b[j * 177 + j + 2] & 4095) + t;
            a[i] += c[i - 1];
        }
    }
#pragma endscop
}

int main(void)
{
    static double a[162], c[292];
    static unsigned long b[162 * 177];
    int sizes[][2] = {{0, 0}, {3, 0}, {2, 1}, {9, 5}, {70, 18}};
    for (int k = 0; k < 5; k++) {
        for (int i = 0; i < 162; i++)
            a[i] = i % 7 * 0.5;
        for (int i = 0; i < 292; i++)
            c[i] = i % 5 * 0.75;
        for (int i = 0; i < 162 * 177; i++)
            b[i] = i;
        f(sizes[k][0], sizes[k][1], a, b, c);
        double sum = 0;
        for (int i = 0; i < 162; i++)
            sum = 0.75 * sum + a[i] + g[i];
        for (int i = 0; i < 162 * 177; i++)
            sum = 0.75 * sum + (b[i] & 1023);
        printf("%a\n", sum);
    }
}
