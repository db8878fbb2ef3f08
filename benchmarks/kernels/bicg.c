/* s = A^T r and q = A p for an n x m matrix A. A is flat and no pointer is `restrict`.
 *
 * usage: bicg [n [m]]
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef REAL
#define REAL float
#endif

static void kernel_bicg(int n, int m, REAL *A, REAL *s, REAL *q, REAL *p, REAL *r)
{
#pragma scop
    for (int j = 0; j < m; j++)
        s[j] = 0;
    for (int i = 0; i < n; i++) {
        q[i] = 0;
        for (int j = 0; j < m; j++) {
            s[j] = s[j] + r[i] * A[i * m + j];
            q[i] = q[i] + A[i * m + j] * p[j];
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
    void *A = new_array((size_t)n * m, 1);
    void *s = new_array(m, 2);
    void *q = new_array(n, 3);
    void *p = new_array(m, 4);
    void *r = new_array(n, 5);

    kernel_bicg(n, m, A, s, q, p, r);
    print_array("s", m, s);
    print_array("q", n, q);

    free(A);
    free(s);
    free(q);
    free(p);
    free(r);
    return 0;
}
