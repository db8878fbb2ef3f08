// flags: -O 1 --target emulator --device generic
// check
// race between two barriers: write of 'A[2]' as A_s[15 * thread_x + p0_r + 2]
#include <stdio.h>
static float A[3];
int main(void)
{
    A[0] = 2;
#pragma scop
    for (int i = 31; i > -1; i -= 2) {
        A[2] = 0;
        for (int j = 31; j > -1; j--)
            A[2] += 0.0625f * A[0];
    }
#pragma endscop
    printf("%g\n", A[2]);
    return 0;
}
