// flags: --target emulator --device generic -O 2
// check: a read of 'h2_value' out of bounds: tiles of a wave copied without an end along the second dimension
#include <stdio.h>

static float A[43][70][70];

static void h0(float *p, float v, int i)
{ p[0] = v; }

static void h1(float *p, float v, int i)
{ if (v < 5) { p[0] = v; return; } p[0] = v; }

static float h2(const float *p, float v, int i)
{ if (i % 3 == 1) return (*p); float j = (*p); if (v > j) j = v; return j; }

static float p0(int n, int m)
{
    float s = 1;
#pragma scop
    for (int i = 31; i >= 0; i--) {
        for (int j = 0; j < n; j++) {
            h0(&s, 0.5f * A[i][j + i][2 * j] + 0.25f * A[j][i + 2][i + 1], j);
        }
    }
    for (int i = 0; i < 32; i++) {
        for (int j = 0; j < m; j += 2) {
            h1(&A[2 * j][0][i], 0.5f * (i + 2) + 0.25f * A[j][j][-j + m], j);
            A[j][j + 1][j] *= 0.5f;
            A[i - j + m][i][j + i + 2] = h2(&A[i - j + m][i][j + i + 2], 0.5f * A[i][2][2 * i] + 0.25f * s, j);
        }
    }
#pragma endscop
    return s;
}

int main(void)
{
    for (int i = 0; i < 43; i++)
        for (int j = 0; j < 70; j++)
            for (int k = 0; k < 70; k++)
                A[i][j][k] = (i * 7 + j * 3 + k) % 101 / 16.0f;
    double sum = p0(2, 3);
    for (int i = 0; i < 43; i++)
        for (int j = 0; j < 70; j++)
            for (int k = 0; k < 70; k++)
                sum = sum * 0.75 + A[i][j][k];
    printf("%a\n", sum);
    return 0;
}
