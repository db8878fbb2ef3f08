// flags: --device h100
// Each sum is a component of its own: together they are one kernel, with one loop, so that x is read once.
// Tiles of both matrices go through one ring.
void sums(int n, int m, float a, float A[restrict n][m], float B[restrict n][m], float x[restrict m],
          float s[restrict n], float t[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        s[i] = 0;
        t[i] = 0;
        for (int j = 0; j < m; j++) {
            s[i] += A[i][j] * x[j];
            t[i] += B[i][j] * x[j];
        }
        s[i] = a * s[i] + t[i];
    }
#pragma endscop
}
