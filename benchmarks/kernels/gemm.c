/* C = alpha A B + beta C for an n x p matrix A and a p x m matrix B.
 *
 * usage: gemm [n [m [p]]]
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef REAL
#define REAL float
#endif

static void kernel_gemm(int n, int m, int p, REAL alpha, REAL beta, REAL C[restrict n][m], REAL A[restrict n][p],
                        REAL B[restrict p][m])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++)
            C[i][j] *= beta;
        for (int k = 0; k < p; k++)
            for (int j = 0; j < m; j++)
                C[i][j] += alpha * A[i][k] * B[k][j];
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
    int p = argc > 3 ? atoi(argv[3]) : n;
    void *C = new_array((size_t)n * m, 1);
    void *A = new_array((size_t)n * p, 2);
    void *B = new_array((size_t)p * m, 3);

    kernel_gemm(n, m, p, (REAL)1.5, (REAL)1.2, C, A, B);
    print_array("C", (size_t)n * m, C);

    free(C);
    free(A);
    free(B);
    return 0;
}
