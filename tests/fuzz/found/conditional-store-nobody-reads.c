// flags: --target emulator --device gtx285
// certificate: the old value of a local that nothing uses afterwards
#include <stdio.h>

static void p0(int n, int m, double A[restrict n + 1][m], short B[restrict n][m])
{
#pragma scop
    for (int i = 0; i < m; i++) {
        for (int k = 0; k < n; k++) {
            float t = A[k + 1][i];
            if (k <= B[k][i])
                t = 0.5f * t + A[0][i];
            B[0][0] += 1;
        }
    }
#pragma endscop
}

int main(void)
{
    static double A[31][20];
    static short B[30][20];
    for (int i = 0; i < 30; i++)
        for (int j = 0; j < 20; j++)
            A[i][j] = i - j, B[i][j] = j;
    p0(30, 20, A, B);
    printf("%d %d\n", B[0][0], B[1][3]);
    return 0;
}
