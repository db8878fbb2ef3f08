// flags: --device 8800gtx
// Statements of one iteration are one: scalars of its own are locals, a block of constant subscripts stays with it.
void blocks(int n, float x[restrict n], float y[restrict n][2][2], float z[restrict n])
{
    float t;
#pragma scop
    for (int i = 1; i < n; i++) {
        t = x[i] + 1;
        y[i][0][0] = t * t;
        y[i][0][1] = x[i - 1] / t;
        t = t - x[i - 1];
        y[i][1][0] = y[i][0][1] + t;
        y[i][1][1] = t;
        z[i] = y[i - 1][1][1];
    }
#pragma endscop
}
