// flags: --device generic --target opencl
// The product for OpenCL: local memory, barriers, vectors of four.
void product(int n, float A[restrict n][n], float B[restrict n][n], float C[restrict n][n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                C[i][j] += A[i][k] * B[k][j];
#pragma endscop
}
