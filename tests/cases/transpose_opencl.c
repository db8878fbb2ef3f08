// flags: --device generic --target opencl
// What is turned in local memory, for OpenCL.
void transpose(int n, int m, float A[restrict n][m], float B[restrict m][n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            B[j][i] = A[i][j];
#pragma endscop
}
