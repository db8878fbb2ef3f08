// flags: -O 1 --target emulator --device h100
// differs; its certificate says so
// What a step finds was kept as it was before the step, although a statement that the schedule has in another loop
// stores to it in the same step.

#include <stdio.h>

static float a[35][36][1];

static void f(float A0[35][36][1])
{
#pragma scop
    for (int i = 1; i < 35; i++) {
        A0[i][0][0] += 0.0625f * (0.5f * A0[i][0][0] + 0.25f * A0[0][i][0]);
        A0[i][0][0] += 0.0625f * (0.5f * A0[i][0][0] + 0.25f * A0[0][i][0] + 0.125f * A0[i - 1][0][0]);
        A0[i][0][0] += 0.0625f * (0.5f * A0[i][0][0] + 0.25f * A0[i][0][0] + 0.125f * A0[i][0][0]);
        for (int j = 1; j < 35; j++)
            A0[i][j][0] = 0.5f * A0[i][j][0] + 0.5f * A0[i][j][0] + 0.25f * A0[j][i][0] + 0.125f * A0[j - 1][i][0];
        for (int j = 1; j < 35; j++)
            A0[i - 1][j][0] = 0.5f * A0[i - 1][j][0] + 0.5f * A0[i][j + 1][0] + 0.25f * A0[i][j][0];
    }
#pragma endscop
}

int main(void)
{
    for (int i = 0; i < 35; i++)
        for (int j = 0; j < 36; j++)
            a[i][j][0] = (i * 31 + j * 17) % 101 / 101.0f;
    f(a);
    for (int i = 0; i < 35; i++)
        for (int j = 0; j < 36; j++)
            printf("%a\n", a[i][j][0]);
    return 0;
}
