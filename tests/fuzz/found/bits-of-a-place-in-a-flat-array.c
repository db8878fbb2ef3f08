// flags: -O 1 --target emulator --device generic
// hang
// a thread's element of a flat array, and a branch that looks at bits of its place: isl took for ever to say which elements are written
#include <stdio.h>
#include <stdlib.h>

static float A0[42][25][37];
static void put(float *p, double v, int i)
{
    switch (i & 3) {
    case 0: p[0] = v; break;
    case 1: case 3: return;
    default: p[0] = v;
    }
}

void f(float *restrict A1)
{
#pragma scop
    for (int i = 0; i < 3; i++) {
        for (int j_k = 0; j_k < 64; j_k++) {
            int j = 1 + j_k / 8;
            int k = 1 + j_k % 8;
            for (int l = 1; l < 9; l++)
                put(&A1[(j * 33 + k) * 31 + l], 0.5f * A0[j][k][l], l);
        }
        for (int j = 8; j > 0; j--)
            for (int k = 1; k < 9; k++)
                for (int l = 8; l >= 1; l--)
                    A0[j][k][l] = 0.5f * A1[((j - 1) * 33 + k) * 31 + l + 1] + 0.25f * A1[(j * 33 + k + 1) * 31 + l];
    }
#pragma endscop
}

int main(void)
{
    float *A1 = malloc(sizeof *A1 * 42 * 33 * 31);
    double sum = 0;
    for (int i = 0; i < 42 * 33 * 31; i++)
        A1[i] = (i * 7 % 64) / 64.0f;
    for (int i = 0; i < 42 * 25 * 37; i++)
        ((float *)A0)[i] = (i * 5 % 32) / 32.0f;
    f(A1);
    for (int i = 0; i < 42 * 33 * 31; i++)
        sum += A1[i] * (i % 13);
    for (int i = 0; i < 42 * 25 * 37; i++)
        sum += ((float *)A0)[i] * (i % 11);
    printf("%.17g\n", sum);
    free(A1);
    return 0;
}
