// flags: --device 8800gtx
// The start of a sum is fused with its loop, and the sum stays in a register. Rows are read by columns:
// tiles of A go through shared memory.
void row_sums(int n, int m, float A[restrict n][m], float s[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        s[i] = 0;
        for (int j = 0; j < m; j++)
            s[i] += A[i][j];
    }
#pragma endscop
}
