// flags: --device 8800gtx --target emulator
// The first element of each row above a limit: lanes leave the loop one by one.
void firsts(int n, int m, float limit, const float a[restrict n][m], int first[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        int j;
        for (j = 0; j < m; j++)
            if (a[i][j] > limit)
                break;
        first[i] = j;
    }
#pragma endscop
}
