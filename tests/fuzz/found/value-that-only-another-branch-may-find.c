// flags: -O 1 --target emulator --device 8800gtx
// certificate: what only the other branch of a test could find was taken to be missed
#include <stdio.h>
static int A[64], B[64];
static void f(void)
{
#pragma scop
    for (int i = 0; i < 60; i++) {
        int t = A[i] % 5;
        if (B[i] > t) {
            if (B[i + 1] > 7) {
                t ^= B[i + 2];
            } else {
                if (B[i + 3] > 2)
                    t = t + B[i];
                t = t * 3;
                if (t > B[i + 1])
                    A[i] = t;
            }
        }
    }
#pragma endscop
}
int main(void)
{
    for (int i = 0; i < 64; i++) {
        A[i] = i * 7 % 13;
        B[i] = i * 5 % 11;
    }
    f();
    for (int i = 0; i < 64; i++)
        printf("%d ", A[i]);
    puts("");
    return 0;
}
