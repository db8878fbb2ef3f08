// flags: --device 8800gtx --target emulator
// The emulator runs a block warp by warp, from barrier to barrier, and counts what each access costs.
void transpose(int n, int m, float A[restrict n][m], float B[restrict m][n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            B[j][i] = A[i][j];
#pragma endscop
}
