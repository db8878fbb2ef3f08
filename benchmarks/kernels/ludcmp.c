/* Solves A x = b: factors A = L U in place as lu does, then solves L y = b and U x = y.
 *
 * usage: ludcmp [n]
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef REAL
#define REAL float
#endif

static void kernel_ludcmp(int n, REAL A[restrict n][n], REAL b[restrict n], REAL x[restrict n], REAL y[restrict n])
{
    REAL rest;
#pragma scop
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            rest = A[i][j];
            for (int k = 0; k < j; k++)
                rest -= A[i][k] * A[k][j];
            A[i][j] = rest / A[j][j];
        }
        for (int j = i; j < n; j++) {
            rest = A[i][j];
            for (int k = 0; k < i; k++)
                rest -= A[i][k] * A[k][j];
            A[i][j] = rest;
        }
    }
    for (int i = 0; i < n; i++) {
        rest = b[i];
        for (int j = 0; j < i; j++)
            rest -= A[i][j] * y[j];
        y[i] = rest;
    }
    for (int i = n - 1; i >= 0; i--) {
        rest = y[i];
        for (int j = i + 1; j < n; j++)
            rest -= A[i][j] * x[j];
        x[i] = rest / A[i][i];
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

/* Adds n to the diagonal: the matrix is then diagonally dominant. */
static void raise_diagonal(size_t n, REAL *A)
{
    for (size_t i = 0; i < n; i++)
        A[i * n + i] += n;
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
    void *b = new_array(n, 2);
    void *x = new_array(n, 3);
    void *y = new_array(n, 4);
    raise_diagonal(n, A);

    kernel_ludcmp(n, A, b, x, y);
    print_array("A", (size_t)n * n, A);
    print_array("y", n, y);
    print_array("x", n, x);

    free(A);
    free(b);
    free(x);
    free(y);
    return 0;
}
