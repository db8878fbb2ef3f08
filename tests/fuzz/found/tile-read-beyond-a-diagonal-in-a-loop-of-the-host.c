// flags: -O 1 --target emulator --device generic
// crash
// as for a line, where loops of the host are around the nest
#include <stdio.h>

static void put(long *p, long v, int i)
{
    if (i > 4)
        goto end;
    *p = v;
end:
    if (v > 9)
        *p = i;
}

static void some(float *p, float v, int i)
{
    switch (i & 3) {
    case 0:
        p[0] = v;
        break;
    case 1:
    case 3:
        return;
    default:
        p[0] = v;
    }
}

void diagonals(unsigned int n, float a[restrict 14][13], long b[19][13])
{
    for (int i = 0; i < 5; i++)
        for (int j = n - i; j < 7; j++)
            for (char k = i; k > -1; k--) {
                put(&b[k - i + 6][2 * k], (j + 2) >> 1, k);
                a[k][i + k] += 0.0625f * b[i - j + 6][i + 1];
                some(&a[k + 1][i + k], 0.5f * a[2 * k + 1][i] + 0.25f * a[k][k] + 0.125f * (k + 2), k);
            }
}

int main(void)
{
    static float a[14][13];
    static long b[19][13];
    void (*volatile run)(unsigned int, float[14][13], long[19][13]) = diagonals;
    for (int i = 0; i < 19; i++)
        for (int j = 0; j < 13; j++) {
            a[i % 14][j] = (i * 13 + j) * 37 % 101;
            b[i][j] = (i * 13 + j) * 53 % 97;
        }
    run(1, a, b);
    run(3, a, b);
    for (int i = 0; i < 14; i++)
        for (int j = 0; j < 13; j++)
            printf("%g %ld\n", a[i][j], b[i][j]);
    return 0;
}
