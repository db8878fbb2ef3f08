/* c = a + b for vectors of n elements. The pointers are not `restrict`: only the call knows that they are apart.
 *
 * usage: vecadd [n]
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef REAL
#define REAL float
#endif

static void kernel_vecadd(int n, const REAL *a, const REAL *b, REAL *c)
{
#pragma scop
    for (int i = 0; i < n; i++)
        c[i] = a[i] + b[i];
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
    int n = argc > 1 ? atoi(argv[1]) : 10000;
    void *a = new_array(n, 1);
    void *b = new_array(n, 2);
    void *c = new_array(n, 3);

    kernel_vecadd(n, a, b, c);
    print_array("c", n, c);

    free(a);
    free(b);
    free(c);
    return 0;
}
