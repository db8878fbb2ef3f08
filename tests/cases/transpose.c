// flags: --device h100
// Lanes follow the columns of the result; what that reads across rows is turned in shared memory.
void transpose(int n, int m, float A[restrict n][m], float B[restrict m][n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            B[j][i] = A[i][j];
#pragma endscop
}
