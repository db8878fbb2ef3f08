// flags: --device 8800gtx
// Forward substitution with many right hand sides: rows are sequential, right hand sides parallel.
void solve(int n, int m, float L[restrict n][n], float x[restrict n][m])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            for (int k = 0; k < i; k++)
                x[i][j] -= L[i][k] * x[k][j];
            x[i][j] = x[i][j] / L[i][i];
        }
#pragma endscop
}
