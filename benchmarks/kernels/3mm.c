/* G = (A B) (C D): A is n x p, B is p x m, C is m x r, D is r x q.
 *
 * usage: 3mm [n [m [p [q [r]]]]]
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef REAL
#define REAL float
#endif

static void kernel_3mm(int n, int m, int p, int q, int r, REAL E[restrict n][m], REAL A[restrict n][p],
                       REAL B[restrict p][m], REAL F[restrict m][q], REAL C[restrict m][r], REAL D[restrict r][q],
                       REAL G[restrict n][q])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            E[i][j] = 0;
            for (int k = 0; k < p; k++)
                E[i][j] += A[i][k] * B[k][j];
        }
    for (int i = 0; i < m; i++)
        for (int j = 0; j < q; j++) {
            F[i][j] = 0;
            for (int k = 0; k < r; k++)
                F[i][j] += C[i][k] * D[k][j];
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < q; j++) {
            G[i][j] = 0;
            for (int k = 0; k < m; k++)
                G[i][j] += E[i][k] * F[k][j];
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
    int q = argc > 4 ? atoi(argv[4]) : n;
    int r = argc > 5 ? atoi(argv[5]) : n;
    void *E = new_array((size_t)n * m, 1);
    void *A = new_array((size_t)n * p, 2);
    void *B = new_array((size_t)p * m, 3);
    void *F = new_array((size_t)m * q, 4);
    void *C = new_array((size_t)m * r, 5);
    void *D = new_array((size_t)r * q, 6);
    void *G = new_array((size_t)n * q, 7);

    kernel_3mm(n, m, p, q, r, E, A, B, F, C, D, G);
    print_array("G", (size_t)n * q, G);

    free(E);
    free(A);
    free(B);
    free(F);
    free(C);
    free(D);
    free(G);
    return 0;
}
