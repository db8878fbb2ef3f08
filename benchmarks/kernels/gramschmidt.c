/* A = Q R for a tall n x m matrix A by Gram and Schmidt's modified method: the columns of Q are orthonormal,
 * R is upper triangular and stays as it is below the diagonal. A is used up. The program takes n - m as `more`.
 *
 * usage: gramschmidt [m [more]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef REAL
#define REAL float
#define SQRT sqrtf
#endif

static void kernel_gramschmidt(int n, int m, REAL A[restrict n][m], REAL Q[restrict n][m], REAL R[restrict m][m])
{
    REAL square;
#pragma scop
    for (int k = 0; k < m; k++) {
        square = 0;
        for (int i = 0; i < n; i++)
            square += A[i][k] * A[i][k];
        R[k][k] = SQRT(square);
        for (int i = 0; i < n; i++)
            Q[i][k] = A[i][k] / R[k][k];
        for (int j = k + 1; j < m; j++) {
            R[k][j] = 0;
            for (int i = 0; i < n; i++)
                R[k][j] += Q[i][k] * A[i][j];
            for (int i = 0; i < n; i++)
                A[i][j] -= Q[i][k] * R[k][j];
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

/* Adds m to the diagonal of the first m rows: the m columns are then far from dependent. */
static void raise_diagonal(size_t m, REAL *A)
{
    for (size_t i = 0; i < m; i++)
        A[i * m + i] += m;
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
    int m = argc > 1 ? atoi(argv[1]) : 200;
    int n = m + (argc > 2 ? atoi(argv[2]) : m);
    void *A = new_array((size_t)n * m, 1);
    void *Q = new_array((size_t)n * m, 2);
    void *R = new_array((size_t)m * m, 3);
    raise_diagonal(m, A);

    kernel_gramschmidt(n, m, A, Q, R);
    print_array("Q", (size_t)n * m, Q);
    print_array("R", (size_t)m * m, R);

    free(A);
    free(Q);
    free(R);
    return 0;
}
