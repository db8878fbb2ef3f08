// flags: --device 8800gtx
// The order is from the last to the first: x[i + 1] is the new value.
void suffix_sums(int n, int m, float x[restrict n][m])
{
#pragma scop
    for (int i = n - 2; i >= 0; i--)
        for (int j = 0; j < m; j++)
            x[i][j] += x[i + 1][j];
#pragma endscop
}
