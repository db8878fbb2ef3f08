// device: assign_points
#include <stdio.h>
#include <stdlib.h>
#include <float.h>

#define NPOINTS 90
#define NFEAT 6
#define K 4

static float **alloc2d(int rows, int cols)
{
    float **m = (float **)malloc(rows * sizeof(float *));
    m[0] = (float *)malloc(rows * cols * sizeof(float));
    for (int i = 1; i < rows; i++)
        m[i] = m[i - 1] + cols;
    return m;
}

void assign_points(float **feature, float **clusters, int npoints, int nclusters, int nfeatures, int *membership)
{
    int i, j, k;
    for (i = 0; i < npoints; i++) {
        int best = 0;
        float min_dist = FLT_MAX;
        for (k = 0; k < nclusters; k++) {
            float dist = 0.0f;
            for (j = 0; j < nfeatures; j++)
                dist += (feature[i][j] - clusters[k][j]) * (feature[i][j] - clusters[k][j]);
            if (dist < min_dist) {
                min_dist = dist;
                best = k;
            }
        }
        membership[i] = best;
    }
}

int main(void)
{
    float **f = alloc2d(NPOINTS, NFEAT), **c = alloc2d(K, NFEAT);
    int membership[NPOINTS], counts[K] = {0};
    for (int i = 0; i < NPOINTS; i++)
        for (int j = 0; j < NFEAT; j++)
            f[i][j] = (float)((i * 37 + j * 11) % 23);
    for (int k = 0; k < K; k++)
        for (int j = 0; j < NFEAT; j++)
            c[k][j] = f[k * 7][j];
    assign_points(f, c, NPOINTS, K, NFEAT, membership);
    for (int i = 0; i < NPOINTS; i++)
        counts[membership[i]]++;
    for (int k = 0; k < K; k++)
        printf("%d ", counts[k]);
    printf("\n");
    return 0;
}
