// flags: -O 0 --target emulator --device 8800gtx
// certificate
// Each statement runs in one iteration of the threads' loop, and not both in the same: threads of two values
// were taken for one thread, whose kernel has one block.
#include <stdio.h>

static void work(int A[restrict 130], int B[restrict 130][4])
{
#pragma scop
    for (int i = 0; i < 130; i++) {
        if (i == 70)
            A[i] = B[i][0] + 1;
        if (i == 3)
            for (int j = 1; j < 4; j++)
                B[i][j] = B[i][j - 1] * 2;
    }
#pragma endscop
}

int main(void)
{
    static int A[130], B[130][4];
    for (int i = 0; i < 130; i++) {
        A[i] = i;
        for (int j = 0; j < 4; j++)
            B[i][j] = i + j;
    }
    work(A, B);
    for (int i = 0; i < 130; i++)
        printf("%d %d %d %d %d\n", A[i], B[i][0], B[i][1], B[i][2], B[i][3]);
    return 0;
}
