/* The correlation matrix of m variables in n samples; `data` is centred and scaled in place.
 *
 * usage: correlation [n [m]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef REAL
#define REAL float
#define SQRT sqrtf
#endif

/* A variable that hardly varies is divided by 1 in place of its standard deviation. */
static void kernel_correlation(int n, int m, REAL samples, REAL data[restrict n][m], REAL corr[restrict m][m],
                               REAL mean[restrict m], REAL deviation[restrict m])
{
#pragma scop
    for (int j = 0; j < m; j++) {
        mean[j] = 0;
        for (int i = 0; i < n; i++)
            mean[j] += data[i][j];
        mean[j] /= samples;
    }
    for (int j = 0; j < m; j++) {
        deviation[j] = 0;
        for (int i = 0; i < n; i++)
            deviation[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
        deviation[j] /= samples;
        deviation[j] = SQRT(deviation[j]);
        deviation[j] = deviation[j] <= (REAL)0.001 ? 1 : deviation[j];
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            data[i][j] -= mean[j];
            data[i][j] /= SQRT(samples) * deviation[j];
        }
    for (int i = 0; i < m; i++) {
        corr[i][i] = 1;
        for (int j = i + 1; j < m; j++) {
            corr[i][j] = 0;
            for (int k = 0; k < n; k++)
                corr[i][j] += data[k][i] * data[k][j];
            corr[j][i] = corr[i][j];
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
    void *data = new_array((size_t)n * m, 1);
    void *corr = new_array((size_t)m * m, 2);
    void *mean = new_array(m, 3);
    void *deviation = new_array(m, 4);

    kernel_correlation(n, m, n > 1 ? n : 1, data, corr, mean, deviation);
    print_array("mean", m, mean);
    print_array("deviation", m, deviation);
    print_array("corr", (size_t)m * m, corr);

    free(data);
    free(corr);
    free(mean);
    free(deviation);
    return 0;
}
