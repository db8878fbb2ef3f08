// flags: --device 8800gtx
// Both loops carry a dependence; the points on a diagonal are independent.
void wavefront(int n, int m, float A[restrict n][m])
{
#pragma scop
    for (int i = 1; i < n; i++)
        for (int j = 1; j < m; j++)
            A[i][j] = 0.5f * A[i - 1][j] + 0.5f * A[i][j - 1];
#pragma endscop
}
