// device: matmul
#include <stdio.h>
#include <stdlib.h>
static void matmul(const float *a, const float *b, float *c, int n, int m, int p)
{
    int i, j, k;
    for (i = 0; i < n; i++) {
        for (j = 0; j < p; j++) {
            float acc = 0.0f;
            for (k = 0; k < m; k++)
                acc += a[i * m + k] * b[k * p + j];
            c[i * p + j] = acc;
        }
    }
}
int main(void)
{
    int n = 24, m = 17, p = 31, i;
    float *a = malloc(sizeof(float) * n * m), *b = malloc(sizeof(float) * m * p), *c = malloc(sizeof(float) * n * p);
    for (i = 0; i < n * m; i++) a[i] = i % 7 - 3;
    for (i = 0; i < m * p; i++) b[i] = i % 5 - 2;
    matmul(a, b, c, n, m, p);
    for (i = 0; i < n * p; i += 37) printf("%g ", c[i]);
    printf("\n");
    return 0;
}
