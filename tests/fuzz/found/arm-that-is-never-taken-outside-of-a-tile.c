// flags: -O 1 --target emulator --device h100
// certificate
// An element outside of a staged tile was one that the kernel reads, although the arm of the conditional
// expression that has it is never taken, as the same test says in the source.

#include <stdio.h>
#include <stdlib.h>

static char G[19][19];

static void put(int *p, long v) { *p = v; }

double p0(int A[restrict 19][19])
{
    double s1 = 1;
#pragma scop
    for (int i = 0; i < 8; i++) {
        for (int j = i; j >= 2; j--) {
            for (int k = j + 1; k < 8 - j; k++) {
                if ((A[i + 1][i - j + 7] & 1023) < (G[i][j + i] & 1023)) {
                    A[j - 2][k] = (A[j - 2][k] & 4095) + (A[2][k] & 511);
                    put(&A[j][k - 1], i + 2 > 30 ? A[2 * i + 2][2 * i + 4] & 63 : 5);
                    A[k][i + 1] = (A[k][i + 1] & 4095) + (A[j - 1][2 * i + 1] & 63);
                }
            }
        }
    }
#pragma endscop
    return s1;
}
int main(void)
{
    static int a[19][19];
    unsigned long sum = 0;
    for (int i = 0; i < 19; i++)
        for (int j = 0; j < 19; j++)
            a[i][j] = (i * 31 + j * 17) % 101, G[i][j] = (i * 7 + j * 11) % 50;
    p0(a);
    for (int i = 0; i < 19; i++)
        for (int j = 0; j < 19; j++)
            sum = sum * 3 + a[i][j];
    printf("%lu\n", sum);
    return 0;
}
