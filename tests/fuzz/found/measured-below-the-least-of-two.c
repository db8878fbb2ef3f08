// flags: -O 1 --target emulator --device generic
// crash
// The host's loop that measured A went to n < -i + n ? n : -i + n, which is no comparison with the least of both.
#include <stdio.h>
static int pool[64 + 9];
static void f(int n, short A[][20], float B[restrict 20][20], int U[])
{
#pragma scop
    for (int i = -1; i < 12; i++) {
        B[i + 1][i + 1] = A[1][i + 1];
        for (int j = 0; j < n - i && j < n; j++)
            B[j][j + 1] += 0.0625f * A[U[j] & 7][13 - i];
    }
#pragma endscop
}
int main(void)
{
    static short A[8][20];
    static float B[20][20];
    int *U = pool + 64;
    for (int k = 0; k < 160; k++) A[k / 20][k % 20] = k;
    for (int k = 0; k < 9; k++) U[k] = 3 * k;
    f(9, A, B, U);
    for (int k = 0; k < 400; k++) printf("%g\n", B[k / 20][k % 20]);
    return 0;
}
