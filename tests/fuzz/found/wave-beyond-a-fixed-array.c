// flags: --target emulator --device h100 -O 2
// certificate: tiles of a wave copied an element that the array does not have, and data keep from being read
#include <stdio.h>

static int A[30][30], B[20];

static void p0(int n, int m)
{
#pragma scop
    for (int i = m; i >= 0; i -= 2)
        for (int j = 0; j < n; j++)
            if (A[i][i] > j)
                B[j] += B[j] < 30 ? B[j + 1] & 15 : 5;
#pragma endscop
}

int main(void)
{
    for (int i = 0; i < 30; i++)
        A[i][i] = 4 * i % 19;
    for (int j = 0; j < 20; j++)
        B[j] = j % 7 * 5 + 20;
    B[19] = 40;
    p0(20, 28);
    for (int j = 0; j < 20; j++)
        printf("%d\n", B[j]);
    return 0;
}
