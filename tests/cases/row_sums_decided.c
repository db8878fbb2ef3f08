// flags: --device h100 --decide 'stage(A[i][j]: j) tile(i: 32, j: 32) threads(i: 32)' --decide 'pad(A: 2) unroll(4) hold()'
// Decisions: a thread a row, rows staged 32 columns at a time with two elements of padding, nothing held.
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
