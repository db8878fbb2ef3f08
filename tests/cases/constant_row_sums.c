// flags: --device generic
// Four blocks of rows exactly, and one tile of each row: nothing is tested, and no loop runs over tiles.
#define N 256
#define M 64

static float A[N][M], s[N];

void row_sums(void)
{
#pragma scop
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++)
            s[i] += A[i][j];
#pragma endscop
}
