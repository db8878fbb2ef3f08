// device: eliminate
#include <stdio.h>
#define N 22
float m[N][N + 1];
void eliminate(void)
{
    for (int p = 0; p < N - 1; p++)
        for (int r = p + 1; r < N; r++) {
            float factor = m[r][p] / m[p][p];
            for (int c = p; c <= N; c++)
                m[r][c] -= factor * m[p][c];
        }
}
int main(void)
{
    for (int i = 0; i < N; i++) for (int j = 0; j <= N; j++) m[i][j] = i == j ? N + i : (i + 2 * j) % 5;
    eliminate();
    for (int i = 0; i < N; i += 4) printf("%.6g %.6g\n", m[i][i], m[i][N]);
    return 0;
}
