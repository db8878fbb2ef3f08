// flags: --device 8800gtx
// A[i * m + j] is A[i][j] of rows of m; that j stays below m is tested at run time where it is not evident.
void add(int n, int m, float *restrict A, float *restrict B)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            A[i * m + j] += B[i * m + j];
#pragma endscop
}
