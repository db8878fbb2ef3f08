// device: scale_by interleave backwards largest counts
#include <stdio.h>
#include <stdlib.h>
/* vectors with an increment, which is 1 in most calls */
void scale_by(int n, float factor, float *restrict x, int inc)
{
    for (int i = 0; i < n; i += inc)
        x[i] = factor * x[i] + i;
}
int interleave(int first, int n, int step, const float *restrict x, float *restrict y)
{
    int i, k = 0;
    for (i = first; i < n; i += step) {
        k += 2;
        if (i < n / 2)
            y[i] = x[n - 1 - i] + k;
    }
    return i + 1000 * k;
}
struct walk { int from, by; };
void backwards(const struct walk *w, float *restrict a, const float *restrict b)
{
    for (long i = w->from; i >= 0; i -= w->by)
        a[i] -= b[i] * 0.5f;
}
int largest(int n, const float *x, int inc)
{
    int at = 0;
    float most = x[0];
    for (int i = inc; i < n; i += inc)
        if (x[i] > most) {
            most = x[i];
            at = i;
        }
    return at;
}
int counts(int n, const float *x, unsigned stride, int h[restrict 8])
{
    int total = 0;
    for (int i = 0; i < n; i += stride) {
        h[(int)x[i] & 7] += 2;
        total += (int)x[i];
    }
    return total;
}
int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 70, found = 0, h[8] = { 0 };
    float *x = malloc((n + 1) * sizeof *x), *y = malloc((n + 1) * sizeof *y);
    for (int i = 0; i <= n; i++) { x[i] = i % 11; y[i] = i % 7; }
    for (int inc = 1; inc < 4; inc++) {
        struct walk w = { n, inc };
        scale_by(n, 0.5f, x, inc);
        found = 7 * found + interleave(inc, n, inc, x, y);
        found = 7 * found + interleave(n + 5, n, 4 - inc, x, y);
        backwards(&w, x, y);
        found = 3 * found + largest(n, x, inc) + counts(n, y, inc, h) + h[3];
    }
    for (int i = 0; i <= n; i++) printf("%g %g\n", x[i], y[i]);
    printf("%d\n", found);
    return 0;
}
