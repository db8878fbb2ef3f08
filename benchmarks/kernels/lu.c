/* A = L U in place: L below the diagonal, its diagonal of ones left out, U on and above it.
 *
 * usage: lu [n]
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef REAL
#define REAL float
#endif

static void kernel_lu(int n, REAL A[restrict n][n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++)
                A[i][j] -= A[i][k] * A[k][j];
            A[i][j] /= A[j][j];
        }
        for (int j = i; j < n; j++)
            for (int k = 0; k < i; k++)
                A[i][j] -= A[i][k] * A[k][j];
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
    raise_diagonal(n, A);

    kernel_lu(n, A);
    print_array("A", (size_t)n * n, A);

    free(A);
    return 0;
}
