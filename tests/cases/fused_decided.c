// flags: --device 8800gtx --decide 'fuse(9, 12)'
// A matrix is updated, and columns of it are added: a thread updates a column, so that A is read once.
void update(int n, int m, float A[restrict n][m], float u[restrict n], float v[restrict m],
            float x[restrict m])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            A[i][j] += u[i] * v[j];
    for (int j = 0; j < m; j++)
        for (int i = 0; i < n; i++)
            x[j] += A[i][j];
#pragma endscop
}
