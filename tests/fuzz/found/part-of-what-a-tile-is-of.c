// flags: -O 2 --target emulator --device 8800gtx
// traceback
// Of the statements that a tile is of, a run had the last ones; the loops that its points have in common were
// asked of the first one.

#include <stdio.h>
#include <stdlib.h>

void p0(float A0[restrict 100], float A1[8][9])
{
#pragma scop
    for (int i = 2; i < 8; i++) {
        for (int j = 1; j < 8; j++) {
            int t0[5];
            for (int k = 0; k < 5; k++)
                t0[k] = 5;
            for (int k = 1; k <= i; k++) {
                for (int l = j; l < 4; l++) {
                    float t1 = 0.5f * A1[j - 1][j + 1];
                    int t2 = 1;
                    while (t2 < 2) {
                        t2 += 2;
                        if ((t2 & 255) < (t0[l] & 1023))
                            continue;
                        t1 = 0.5f * t1;
                    }
                    A0[k * 9 + l] += t1;
                }
            }
        }
    }
#pragma endscop
}

int main(void)
{
    static float A0[100], A1[8][9];
    for (int i = 0; i < 100; i++)
        A0[i] = i / 8.0f;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 9; j++)
            A1[i][j] = (i * 5 + j) / 16.0f;
    p0(A0, A1);
    for (int i = 0; i < 100; i++)
        printf("p0.A0[%d] %g\n", i, A0[i]);
    return 0;
}
