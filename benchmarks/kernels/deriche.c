/* Smooths an image by Deriche's recursive filter: the response to one bright point falls with the distance
 * x as k (1 + alpha |x|) exp(-alpha |x|), first along the rows, then along the columns. Each pass adds what a
 * filter of second order gives forwards to what another gives backwards.
 *
 * usage: deriche [n [m]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef REAL
#define REAL float
#define EXP expf
#endif

static void kernel_deriche(int n, int m, REAL alpha, REAL image[restrict n][m], REAL smooth[restrict n][m],
                           REAL ahead[restrict n][m], REAL behind[restrict n][m])
{
    REAL decay, k, a1, a2, a3, a4, b1, b2;
    REAL in1, in2, out1, out2;
#pragma scop
    decay = EXP(-alpha);
    k = (1 - decay) * (1 - decay) / (1 + 2 * alpha * decay - decay * decay);
    a1 = k;
    a2 = k * decay * (alpha - 1);
    a3 = k * decay * (alpha + 1);
    a4 = -k * decay * decay;
    b1 = 2 * decay;
    b2 = -decay * decay;
    for (int i = 0; i < n; i++) {
        in1 = 0;
        out1 = 0;
        out2 = 0;
        for (int j = 0; j < m; j++) {
            ahead[i][j] = a1 * image[i][j] + a2 * in1 + b1 * out1 + b2 * out2;
            in1 = image[i][j];
            out2 = out1;
            out1 = ahead[i][j];
        }
    }
    for (int i = 0; i < n; i++) {
        in1 = 0;
        in2 = 0;
        out1 = 0;
        out2 = 0;
        for (int j = m - 1; j >= 0; j--) {
            behind[i][j] = a3 * in1 + a4 * in2 + b1 * out1 + b2 * out2;
            in2 = in1;
            in1 = image[i][j];
            out2 = out1;
            out1 = behind[i][j];
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            smooth[i][j] = ahead[i][j] + behind[i][j];
    for (int j = 0; j < m; j++) {
        in1 = 0;
        out1 = 0;
        out2 = 0;
        for (int i = 0; i < n; i++) {
            ahead[i][j] = a1 * smooth[i][j] + a2 * in1 + b1 * out1 + b2 * out2;
            in1 = smooth[i][j];
            out2 = out1;
            out1 = ahead[i][j];
        }
    }
    for (int j = 0; j < m; j++) {
        in1 = 0;
        in2 = 0;
        out1 = 0;
        out2 = 0;
        for (int i = n - 1; i >= 0; i--) {
            behind[i][j] = a3 * in1 + a4 * in2 + b1 * out1 + b2 * out2;
            in2 = in1;
            in1 = smooth[i][j];
            out2 = out1;
            out1 = behind[i][j];
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            smooth[i][j] = ahead[i][j] + behind[i][j];
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
    void *image = new_array((size_t)n * m, 1);
    void *smooth = new_array((size_t)n * m, 2);
    void *ahead = new_array((size_t)n * m, 3);
    void *behind = new_array((size_t)n * m, 4);

    kernel_deriche(n, m, (REAL)0.5, image, smooth, ahead, behind);
    print_array("smooth", (size_t)n * m, smooth);

    free(image);
    free(smooth);
    free(ahead);
    free(behind);
    return 0;
}
