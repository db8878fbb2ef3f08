// device: main
#include <stdio.h>
#include <stdlib.h>
typedef double fp;
int main(int argc, char **argv)
{
    int rows = 24, cols = 20, all;
    fp *image, *change;
    int *north, *perm;
    if (argc > 5)
        rows = atoi(argv[5]);
    all = rows * cols;
    image = (fp *)malloc(sizeof(fp) * all);
    change = (fp *)calloc((size_t)rows * cols, sizeof *change);
    north = malloc(sizeof(int) * rows);
    perm = malloc(all * sizeof perm[0]);
    srand(7);
    for (int i = 0; i < rows; i++) north[i] = i ? i - 1 : 0;
    for (int k = 0; k < all; k++) { image[k] = k * 3 % 17; perm[k] = rand() % all; }
    for (int step = 0; step < 3; step++) {
        #pragma omp parallel for
        for (int j = 0; j < cols; j++)
            for (int i = 0; i < rows; i++) {
                int k = i + rows * j;
                change[k] = image[north[i] + rows * j] - image[k];
            }
        printf("%g\n", change[step]);
        for (int k = 0; k < all; k++)
            image[k] += 0.25 * change[perm[k]];
        printf("%g\n", image[step * 7]);
    }
    return 0;
}
