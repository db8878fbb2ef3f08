// flags: -O 2 --target emulator --device gtx285
// certificate
// A register hands on what another iteration has left in an array that each iteration has of its own: where the
// test fails nothing reads it.
#include <stdio.h>

#define N 16
static double A0[2 * N + 1][N + 2], G0[N + 1][2 * N + 2];

void p0(double A0[restrict 2 * N + 1][N + 2])
{
    for (int i = N - 2; i >= 0; i--) {
        if (i + 2 > G0[0][N + 1 - i]) {
            for (int j = i + 1; j <= i + 1; j++) {
                unsigned char t[5];
                for (int k = 0; k < 5; k++)
                    t[k] = k + 2 > 30 ? 5 : k;
                A0[j + 1][i] = 0.5 * A0[j + 1][i] + 0.5 * t[4] + 0.25 * A0[i][i];
            }
        }
    }
}

int main(void)
{
    for (int i = 0; i < 2 * N + 1; i++)
        for (int j = 0; j < N + 2; j++)
            A0[i][j] = (i * 7 + j * 3) % 16 * 0.25;
    for (int j = 0; j < 2 * N + 2; j++)
        G0[0][j] = j % 5 * 2;
    p0(A0);
    for (int i = 0; i < 2 * N + 1; i++)
        for (int j = 0; j < N + 2; j++)
            printf("%.17g\n", A0[i][j]);
    return 0;
}
