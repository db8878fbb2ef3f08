/* y = alpha A x + beta B x. The matrices are flat: row i of A starts at A[i * n].
 *
 * usage: gesummv [n]
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef REAL
#define REAL float
#endif

static void kernel_gesummv(int n, REAL alpha, REAL beta, const REAL *restrict A, const REAL *restrict B,
                           REAL *restrict t, const REAL *restrict x, REAL *restrict y)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        t[i] = 0;
        y[i] = 0;
        for (int j = 0; j < n; j++) {
            t[i] = A[i * n + j] * x[j] + t[i];
            y[i] = B[i * n + j] * x[j] + y[i];
        }
        y[i] = alpha * t[i] + beta * y[i];
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
    void *A = new_array((size_t)n * n, 1);
    void *B = new_array((size_t)n * n, 2);
    void *t = new_array(n, 3);
    void *x = new_array(n, 4);
    void *y = new_array(n, 5);

    kernel_gesummv(n, (REAL)1.5, (REAL)1.2, A, B, t, x, y);
    print_array("y", n, y);

    free(A);
    free(B);
    free(t);
    free(x);
    free(y);
    return 0;
}
