/* x1 += A y1 and x2 += A^T y2: one n x n matrix, read along its rows and along its columns.
 *
 * usage: mvt [n]
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef REAL
#define REAL float
#endif

static void kernel_mvt(int n, REAL x1[restrict n], REAL x2[restrict n], REAL y1[restrict n], REAL y2[restrict n],
                       REAL A[restrict n][n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x1[i] += A[i][j] * y1[j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x2[i] += A[j][i] * y2[j];
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
    void *x1 = new_array(n, 1);
    void *x2 = new_array(n, 2);
    void *y1 = new_array(n, 3);
    void *y2 = new_array(n, 4);
    void *A = new_array((size_t)n * n, 5);

    kernel_mvt(n, x1, x2, y1, y2, A);
    print_array("x1", n, x1);
    print_array("x2", n, x2);

    free(x1);
    free(x2);
    free(y1);
    free(y2);
    free(A);
    return 0;
}
