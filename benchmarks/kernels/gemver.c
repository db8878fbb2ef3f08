/* A += u1 v1^T + u2 v2^T, x += beta A^T y + z, w += alpha A x.
 *
 * usage: gemver [n]
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef REAL
#define REAL float
#endif

static void kernel_gemver(int n, REAL alpha, REAL beta, REAL A[restrict n][n], REAL u1[restrict n],
                          REAL v1[restrict n], REAL u2[restrict n], REAL v2[restrict n], REAL w[restrict n],
                          REAL x[restrict n], REAL y[restrict n], REAL z[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            A[i][j] = A[i][j] + u1[i] * v1[j] + u2[i] * v2[j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x[i] = x[i] + beta * A[j][i] * y[j];
    for (int i = 0; i < n; i++)
        x[i] = x[i] + z[i];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            w[i] = w[i] + alpha * A[i][j] * x[j];
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
    void *A = new_array((size_t)n * n, 1);
    void *u1 = new_array(n, 2);
    void *v1 = new_array(n, 3);
    void *u2 = new_array(n, 4);
    void *v2 = new_array(n, 5);
    void *w = new_array(n, 6);
    void *x = new_array(n, 7);
    void *y = new_array(n, 8);
    void *z = new_array(n, 9);

    kernel_gemver(n, (REAL)1.5, (REAL)1.2, A, u1, v1, u2, v2, w, x, y, z);
    print_array("A", (size_t)n * n, A);
    print_array("x", n, x);
    print_array("w", n, w);

    free(A);
    free(u1);
    free(v1);
    free(u2);
    free(v2);
    free(w);
    free(x);
    free(y);
    free(z);
    return 0;
}
