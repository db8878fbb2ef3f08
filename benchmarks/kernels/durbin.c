/* Solves T y = -r by Durbin's recursion, T the symmetric matrix with 1 on its diagonal and r[d - 1] at the
 * distance d from it. Step k has the solution for the leading k x k part of T and finds the next one.
 *
 * usage: durbin [n]
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef REAL
#define REAL float
#endif

static void kernel_durbin(int n, REAL r[restrict n], REAL y[restrict n], REAL z[restrict n])
{
    REAL alpha, beta, sum;
#pragma scop
    alpha = 0;
    beta = 1;
    for (int k = 0; k < n; k++) {
        beta = (1 - alpha * alpha) * beta;
        sum = 0;
        for (int i = 0; i < k; i++)
            sum += r[k - i - 1] * y[i];
        alpha = -(r[k] + sum) / beta;
        for (int i = 0; i < k; i++)
            z[i] = y[i] + alpha * y[k - i - 1];
        for (int i = 0; i < k; i++)
            y[i] = z[i];
        y[k] = alpha;
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

/* Divides the n numbers by 2 n: all together they then weigh less than the diagonal. */
static void lower(size_t n, REAL *r)
{
    for (size_t i = 0; i < n; i++)
        r[i] /= 2 * n;
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
    void *r = new_array(n, 1);
    void *y = new_array(n, 2);
    void *z = new_array(n, 3);
    lower(n, r);

    kernel_durbin(n, r, y, z);
    print_array("y", n, y);

    free(r);
    free(y);
    free(z);
    return 0;
}
