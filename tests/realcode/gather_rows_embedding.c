// device: lookup
#include <stdio.h>
#include <stdlib.h>
#define DIM 12
void lookup(const float *table, int dim, const int *ids, int n, float *out)
{
    for (int t = 0; t < n; t++) {
        const float *src = &table[ids[t] * dim];
        float *dst = &out[t * dim];
        for (int d = 0; d < dim; d++)
            dst[d] = src[d];
    }
}
int main(void)
{
    float *table = malloc(50 * DIM * sizeof(float)), out[20 * DIM];
    int ids[20];
    for (int i = 0; i < 50 * DIM; i++) table[i] = i * 0.5f;
    for (int i = 0; i < 20; i++) ids[i] = (i * 13 + 5) % 50;
    lookup(table, DIM, ids, 20, out);
    printf("%g %g %g\n", out[0], out[7 * DIM + 3], out[19 * DIM + 11]);
    free(table);
    return 0;
}
