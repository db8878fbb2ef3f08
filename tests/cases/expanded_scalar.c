// flags: --device 8800gtx
// One scalar for all iterations forbids parallelism by its name only: each point gets its own.
void squares(int n, int m, float x[restrict n][m], float y[restrict n])
{
    float t;
#pragma scop
    for (int i = 0; i < n; i++) {
        t = 1;
        for (int j = 0; j < m; j++)
            t += x[i][j] * x[i][j];
        y[i] = t * t;
    }
#pragma endscop
}
