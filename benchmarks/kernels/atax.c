/* y = A^T (A x) for an n x m matrix A. The arrays are global and have a fixed size, of which a part is used.
 *
 * usage: atax [n [m]]      (at most SIZE each)
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef REAL
#define REAL float
#endif
#ifndef SIZE
#define SIZE 2048
#endif

static REAL A[SIZE][SIZE], x[SIZE], y[SIZE], t[SIZE];

static void kernel_atax(int n, int m)
{
#pragma scop
    for (int j = 0; j < m; j++)
        y[j] = 0;
    for (int i = 0; i < n; i++) {
        t[i] = 0;
        for (int j = 0; j < m; j++)
            t[i] = t[i] + A[i][j] * x[j];
        for (int j = 0; j < m; j++)
            y[j] = y[j] + A[i][j] * t[i];
    }
#pragma endscop
}

/* A number in [0, 1), another one for each `k`. */
static REAL number(unsigned k)
{
    return (REAL)((k * 2654435761u) >> 16) / 65536;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 200;
    int m = argc > 2 ? atoi(argv[2]) : n;
    if (n > SIZE || m > SIZE) {
        fprintf(stderr, "atax: at most %d x %d\n", SIZE, SIZE);
        return 1;
    }
    for (int i = 0; i < SIZE; i++) {
        x[i] = number(i);
        for (int j = 0; j < SIZE; j++)
            A[i][j] = number((unsigned)i * SIZE + j + SIZE);
    }

    kernel_atax(n, m);
    for (int j = 0; j < m; j++)
        printf("y[%d] %.9g\n", j, y[j]);
    return 0;
}
