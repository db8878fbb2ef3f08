// flags: --device h100
// The tiles divide the known sizes, so no bound is tested; what is fetched ahead of the last tile has to
// stay inside of A and B.
#define N 256

static float A[N][N], B[N][N], C[N][N];

void product(void)
{
#pragma scop
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                C[i][j] += A[i][k] * B[k][j];
#pragma endscop
}
