// flags: --device 8800gtx --target emulator
// A loop of the kernel in the emulator: lanes that are done wait for the others.
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
