// flags: --device 8800gtx
// Rows of the box in shared memory are copied plane by plane: a plane has ten, and no thread divides by it.
void stencil(int n, float a[restrict n][n][n], float b[restrict n][n][n])
{
#pragma scop
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            for (int k = 1; k < n - 1; k++)
                b[i][j][k] = a[i - 1][j][k] + a[i][j - 1][k] + a[i][j][k - 1] + a[i + 1][j][k] + a[i][j + 1][k] + a[i][j][k + 1];
#pragma endscop
}
