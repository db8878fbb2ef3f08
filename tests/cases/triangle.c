// flags: --device 8800gtx
// A triangle of points in a rectangular grid: blocks that miss it end at once.
void mirror(int n, float A[restrict n][n], float L[restrict n][n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            L[i][j] = 0.5f * A[i][j];
#pragma endscop
}
