/* Each row of the q x r planes of A (rows of p elements) is multiplied by the p x p matrix W, in place.
 *
 * usage: doitgen [r [q [p]]]
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef REAL
#define REAL float
#endif

static void kernel_doitgen(int r, int q, int p, REAL A[restrict r][q][p], REAL W[restrict p][p],
                           REAL sum[restrict p])
{
#pragma scop
    for (int i = 0; i < r; i++)
        for (int j = 0; j < q; j++) {
            for (int k = 0; k < p; k++) {
                sum[k] = 0;
                for (int s = 0; s < p; s++)
                    sum[k] += A[i][j][s] * W[s][k];
            }
            for (int k = 0; k < p; k++)
                A[i][j][k] = sum[k];
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
    int r = argc > 1 ? atoi(argv[1]) : 50;
    int q = argc > 2 ? atoi(argv[2]) : r;
    int p = argc > 3 ? atoi(argv[3]) : r;
    void *A = new_array((size_t)r * q * p, 1);
    void *W = new_array((size_t)p * p, 2);
    void *sum = new_array(p, 3);

    kernel_doitgen(r, q, p, A, W, sum);
    print_array("A", (size_t)r * q * p, A);

    free(A);
    free(W);
    free(sum);
    return 0;
}
