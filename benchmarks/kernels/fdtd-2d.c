/* Maxwell's equations in two dimensions by finite differences in the time domain.
 * The field ey is driven along its first row by one value of `pulse` a step.
 *
 * usage: fdtd-2d [n [m [steps]]]
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef REAL
#define REAL float
#endif

static void kernel_fdtd_2d(int n, int m, int steps, REAL ex[restrict n][m], REAL ey[restrict n][m],
                           REAL hz[restrict n][m], REAL pulse[restrict steps])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int j = 0; j < m; j++)
            ey[0][j] = pulse[t];
        for (int i = 1; i < n; i++)
            for (int j = 0; j < m; j++)
                ey[i][j] = ey[i][j] - (REAL)0.5 * (hz[i][j] - hz[i - 1][j]);
        for (int i = 0; i < n; i++)
            for (int j = 1; j < m; j++)
                ex[i][j] = ex[i][j] - (REAL)0.5 * (hz[i][j] - hz[i][j - 1]);
        for (int i = 0; i < n - 1; i++)
            for (int j = 0; j < m - 1; j++)
                hz[i][j] = hz[i][j] - (REAL)0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
    }
#pragma endscop
}

/* `count` numbers in [0, 1), a different sequence for each `seed`. */
static void *new_array(size_t count, unsigned seed)
{
    REAL *value = malloc((count + 1) * sizeof *value);
    if (!value) {
        perror("new_array");
        exit(1);
    }
    for (size_t t = 0; t < count; t++)
        value[t] = (REAL)(((unsigned)t * 2654435761u + seed * 2246822519u) >> 16) / 65536;
    return value;
}

/* A small array element by element, a large one as sums of 4096 elements, plain and weighted by position. */
static void print_array(const char *name, size_t count, const REAL *value)
{
    double sum = 0, weighted = 0;
    for (size_t t = 0; t < count; t++) {
        sum += value[t];
        weighted += (double)(t % 4096 + 1) * value[t];
        if (count <= 40000) {
            printf("%s[%zu] %.9g\n", name, t, value[t]);
        } else if (t % 4096 == 4095 || t == count - 1) {
            printf("%s[%zu..%zu] %.17g %.17g\n", name, t / 4096 * 4096, t, sum, weighted);
            sum = weighted = 0;
        }
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 200;
    int m = argc > 2 ? atoi(argv[2]) : n;
    int steps = argc > 3 ? atoi(argv[3]) : 10;
    if (n == 0)
        m = 0; /* without a first row there is nothing to drive */
    void *ex = new_array((size_t)n * m, 1);
    void *ey = new_array((size_t)n * m, 2);
    void *hz = new_array((size_t)n * m, 3);
    void *pulse = new_array(steps, 4);

    kernel_fdtd_2d(n, m, steps, ex, ey, hz, pulse);
    print_array("ex", (size_t)n * m, ex);
    print_array("ey", (size_t)n * m, ey);
    print_array("hz", (size_t)n * m, hz);

    free(ex);
    free(ey);
    free(hz);
    free(pulse);
    return 0;
}
