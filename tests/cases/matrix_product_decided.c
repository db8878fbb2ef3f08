// flags: --device h100 --decide 'order(j, i) tile(i: 64, j: 32, k: 8) threads(i: 16, j: 16) deal(i: 4, j: cyclic)' --decide 'buffer(ring: 4) wide(8)'
// Decisions: lanes along i, a ring of four tiles, four points of a thread in a row along i, two in turn along j.
void product(int n, float A[restrict n][n], float B[restrict n][n], float C[restrict n][n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                C[i][j] += A[i][k] * B[k][j];
#pragma endscop
}
