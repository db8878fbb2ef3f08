// flags: -O 2 --target emulator --device generic
// slow
// certificate: a loop of the host is several with the same launches, whose partial results were taken to be each other's
#include <stdio.h>
static void f(int n, int A0[restrict n + 7][23], int A1[restrict 7], int A2[restrict n + 7])
{
#pragma scop
    for (int i = 1; i < 7; i++) {
        for (int j = 1; j < n; j++) {
            A1[i] += A2[0] & 15;
            A0[j + 1][i] = (A0[i][j] & 63) + (A2[i] & 15);
        }
        A1[i] = 3;
        for (int j = n - 2; j >= 1; j--) {
            A2[j - 1] = (A1[j] & 63) + (A0[i][0] & 31);
            A1[i] = A2[i] & 63;
        }
    }
#pragma endscop
}
int main(void)
{
    static int a0[57][23], a1[7], a2[57];
    for (int n = 2; n < 50; n += 9) {
        for (int k = 0; k < 57; k++) {
            a2[k] = k * 5 % 11;
            for (int l = 0; l < 23; l++)
                a0[k][l] = (k * 7 + l) % 13;
        }
        f(n < 8 ? n : 7, a0, a1, a2);
        for (int k = 0; k < 57; k++)
            printf("%d %d %d\n", a0[k][k % 23], a1[k % 7], a2[k]);
    }
    return 0;
}
