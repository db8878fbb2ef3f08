/* A 3 x 3 filter over an image: n x m results from (n + 2) x (m + 2) pixels. No pragma.
 *
 * usage: conv2d [n [m]]
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef REAL
#define REAL float
#endif

static void kernel_conv2d(int n, int m, REAL result[restrict n][m], REAL image[restrict n + 2][m + 2],
                          REAL filter[restrict 3][3])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            result[i][j] = 0;
            for (int r = 0; r < 3; r++)
                for (int s = 0; s < 3; s++)
                    result[i][j] += filter[r][s] * image[i + r][j + s];
        }
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
    void *result = new_array((size_t)n * m, 1);
    void *image = new_array((size_t)(n + 2) * (m + 2), 2);
    void *filter = new_array(9, 3);

    kernel_conv2d(n, m, result, image, filter);
    print_array("result", (size_t)n * m, result);

    free(result);
    free(image);
    free(filter);
    return 0;
}
