// flags: -O 1 --target emulator --device h100
// slow
// certificate: tiles of a wave copied up to the last element that is used for some sizes; for others it is not
#include <stdio.h>

static void h0_0(float *p, float v, int i)
{ (*p) = v; }

static void h0_1(int n, int m, float *restrict A0, float A1[restrict 8][8], int i, int j)
{
    int k = n - 2;
    while (k >= 1) {
        h0_0(&A1[j][k], 0.5f * A0[(j) * 29 + k] + 0.25f * A0[(j) * 29 + k - 1] + 0.125f * A0[(j - 1) * 29 + k + 1] + 0.0625f * A0[(j + 1) * 29 + k], k);
        k--;
    }
}

static void h0_2(float *p, float v, int i)
{ switch (i & 3) { case 0: (*p) = v; break; case 1: case 3: return; default: (*p) = v; } }

static void h0_3(float *p, double v, int i)
{ float t0 = (*p); if (i % 2 == 0) t0 = v; else if (i == 3) return; (*p) = t0; }

double p0(int n, int m, float *restrict A0, float A1[restrict 8][8])
{
    float s0 = 1;
#pragma scop
    for (int i = 0; i < 2; i++) {
        for (int j = 1; j < n - 1; j++) {
            h0_1(n, m, A0, A1, i, j);
        }
        for (int j = n - 1; j > 0; j--) {
            for (int k = 1; k < n; k++) {
                h0_2(&A0[(j) * 29 + k], 0.5f * A1[j][k - 1] + 0.25f * A1[j][k] + 0.125f * A1[j - 1][k], k);
            }
        }
    }
    for (int i = 0; i < m; i++) {
        A0[(-i + m) * 29 + i] = 1;
        for (int j = (n - 1 < m - 1 ? n - 1 : m - 1); j >= 0; j--) {
            h0_3(&A0[(-i + m) * 29 + i], 0.5f * A0[(i + 1) * 29 + (-j + n - 1)], j);
        }
    }
#pragma endscop
    return 0.0 + s0;
}

static float A[13 * 29], B[8][8];

int main(void)
{
    for (int i = 0; i < 13 * 29; i++)
        A[i] = i * 37 % 101;
    printf("%g\n", p0(7, 5, A, B));
    for (int i = 0; i < 13 * 29; i++)
        printf("%g\n", A[i]);
    return 0;
}
