/* Heat conduction in a plate by alternating directions: each half step is implicit along one axis and
 * explicit along the other, and solves a tridiagonal system for every line. The edge of u stays as it is.
 *
 * usage: adi [n [steps]]
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef REAL
#define REAL float
#endif

/* `ratio` is the diffusivity times the time step over the square of the grid spacing. */
static void kernel_adi(int n, int steps, REAL ratio, REAL u[restrict n][n], REAL v[restrict n][n],
                       REAL p[restrict n][n], REAL q[restrict n][n])
{
    REAL side, centre, outside;
#pragma scop
    side = ratio / 2;
    centre = 1 + ratio;
    outside = 1 - ratio;
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++) {
            v[0][i] = u[0][i];
            p[i][0] = 0;
            q[i][0] = v[0][i];
            for (int j = 1; j < n - 1; j++) {
                p[i][j] = side / (centre - side * p[i][j - 1]);
                q[i][j] = (side * u[j][i - 1] + outside * u[j][i] + side * u[j][i + 1] + side * q[i][j - 1]) /
                          (centre - side * p[i][j - 1]);
            }
            v[n - 1][i] = u[n - 1][i];
            for (int j = n - 2; j >= 1; j--)
                v[j][i] = p[i][j] * v[j + 1][i] + q[i][j];
        }
        for (int i = 1; i < n - 1; i++) {
            p[i][0] = 0;
            q[i][0] = u[i][0];
            for (int j = 1; j < n - 1; j++) {
                p[i][j] = side / (centre - side * p[i][j - 1]);
                q[i][j] = (side * v[i - 1][j] + outside * v[i][j] + side * v[i + 1][j] + side * q[i][j - 1]) /
                          (centre - side * p[i][j - 1]);
            }
            for (int j = n - 2; j >= 1; j--)
                u[i][j] = p[i][j] * u[i][j + 1] + q[i][j];
        }
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
    int steps = argc > 2 ? atoi(argv[2]) : 10;
    void *u = new_array((size_t)n * n, 1);
    void *v = new_array((size_t)n * n, 2);
    void *p = new_array((size_t)n * n, 3);
    void *q = new_array((size_t)n * n, 4);

    kernel_adi(n, steps, (REAL)0.75, u, v, p, q);
    print_array("u", (size_t)n * n, u);
    print_array("v", (size_t)n * n, v);

    free(u);
    free(v);
    free(p);
    free(q);
    return 0;
}
