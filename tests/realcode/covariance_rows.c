// device: covariance
#include <stdio.h>
#include <stdlib.h>
static void covariance(float **data, float **cov, float *mean, int n, int m)
{
    int i, j, k;
    for (j = 0; j < m; j++) {
        mean[j] = 0.0f;
        for (i = 0; i < n; i++)
            mean[j] += data[i][j];
        mean[j] /= (float)n;
    }
    for (j = 0; j < m; j++)
        for (k = j; k < m; k++) {
            cov[j][k] = 0.0f;
            for (i = 0; i < n; i++)
                cov[j][k] += (data[i][j] - mean[j]) * (data[i][k] - mean[k]);
            cov[j][k] /= (float)(n - 1);
            cov[k][j] = cov[j][k];
        }
}
int main(void)
{
    enum { N = 25, M = 7 };
    float *d[N], *c[M], mean[M];
    for (int i = 0; i < N; i++) {
        d[i] = malloc(M * sizeof(float));
        for (int j = 0; j < M; j++) d[i][j] = (float)((i * 3 + j * j * 5 + i * j) % 17);
    }
    for (int j = 0; j < M; j++) c[j] = malloc(M * sizeof(float));
    covariance(d, c, mean, N, M);
    printf("%.4f %.4f %.4f %.4f\n", mean[3], c[0][0], c[2][5], c[6][1]);
    return 0;
}
