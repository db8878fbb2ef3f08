/* The heat equation on a cube, explicit in time, two sweeps a step.
 *
 * usage: heat-3d [n [steps]]
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef REAL
#define REAL float
#endif

static void kernel_heat_3d(int n, int steps, REAL A[restrict n][n][n], REAL B[restrict n][n][n])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    B[i][j][k] = (REAL)0.125 * (A[i + 1][j][k] - 2 * A[i][j][k] + A[i - 1][j][k])
                               + (REAL)0.125 * (A[i][j + 1][k] - 2 * A[i][j][k] + A[i][j - 1][k])
                               + (REAL)0.125 * (A[i][j][k + 1] - 2 * A[i][j][k] + A[i][j][k - 1])
                               + A[i][j][k];
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    A[i][j][k] = (REAL)0.125 * (B[i + 1][j][k] - 2 * B[i][j][k] + B[i - 1][j][k])
                               + (REAL)0.125 * (B[i][j + 1][k] - 2 * B[i][j][k] + B[i][j - 1][k])
                               + (REAL)0.125 * (B[i][j][k + 1] - 2 * B[i][j][k] + B[i][j][k - 1])
                               + B[i][j][k];
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
    int n = argc > 1 ? atoi(argv[1]) : 64;
    int steps = argc > 2 ? atoi(argv[2]) : 10;
    void *A = new_array((size_t)n * n * n, 1);
    void *B = new_array((size_t)n * n * n, 2);

    kernel_heat_3d(n, steps, A, B);
    print_array("A", (size_t)n * n * n, A);
    print_array("B", (size_t)n * n * n, B);

    free(A);
    free(B);
    return 0;
}
