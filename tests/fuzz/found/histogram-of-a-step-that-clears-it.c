// flags: -O 1 --target emulator --device gtx285 --reassociate
// check
// error: a dependence of the source is not kept (false alarm: tiles of copies are fetched with clamped subscripts)
#include <stdio.h>

void f(float A[restrict 2], short B[restrict 33])
{
#pragma scop
    for (int i = 0; i < 10; i += 3) {
        A[0] = 1;
        A[1] = 5;
        for (int j = i + 1; j <= 16; j++)
            A[B[j + i] & 1] -= (float)(j & 3);
    }
#pragma endscop
}

int main(void)
{
    static float a[2];
    static short b[33];
    for (int k = 0; k < 33; k++)
        b[k] = (short)(k * k % 7);
    f(a, b);
    printf("%g %g\n", a[0], a[1]);
    return 0;
}
