// flags: --device h100 --decide 'tensor(tf32) tile(k: 8) scale(A)'
// A product on tensor cores: a warp multiplies fragments of whole tiles, threads do the terms that are left; alpha
// goes into the tile of A while it is copied.
void product(int n, int m, float alpha, float beta, float A[restrict n][m], float B[restrict m][n],
             float C[restrict n][n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            C[i][j] *= beta;
            for (int k = 0; k < m; k++)
                C[i][j] += alpha * A[i][k] * B[k][j];
        }
#pragma endscop
}
