// flags: -O 2 --target emulator --device generic
// traceback
// ValueError: an array of the region that takes the place of rows behind pointers was taken for such rows
#include <stdio.h>

void f(int n, int **A, int w, int *restrict B, unsigned char *restrict C)
{
    for (int i = n - 1; i >= 0; i--) {
        for (int j = -1; j < 5; j++)
            for (int k = i; k <= n - 1; k++) {
                C[2 * i + 1] = 3;
                A[3][k] = -(B[k * w + j + 1] & 255);
            }
        B[i * w + i + 1] = -(B[i * w + 1] & 255);
    }
}

int main(void)
{
    static int rows[8][40], B[40 * 48], *A[8];
    static unsigned char C[80];
    for (int t = 0; t < 8; t++)
        A[t] = rows[t];
    for (int t = 0; t < 40 * 48; t++)
        B[t] = t * 37 % 1009;
    f(33, A, 48, B, C);
    for (int t = 0; t < 320; t++)
        printf("%d\n", rows[t / 40][t % 40]);
    for (int t = 0; t < 40 * 48; t++)
        printf("%d\n", B[t]);
    for (int t = 0; t < 80; t++)
        printf("%d\n", C[t]);
    return 0;
}
