// flags: -O 1 --target emulator --device generic
// build
// Nothing was tested for the region, which has no use of A: the host did not declare how much of it there is.
#include <stdio.h>
static int pool[64];
static void f(int m, short B[restrict m], float A[], int U[restrict m])
{
#pragma scop
    for (int j = 0; j < m; j++) {
        float t = 0;
        t = A[U[j] & 7];
        B[j] = j;
    }
#pragma endscop
}
int main(void)
{
    short B[9];
    float *A = (float *)(pool + 16);
    f(9, B, A, pool + 1);
    for (int k = 0; k < 9; k++) printf("%d\n", B[k]);
    return 0;
}
