// flags: -O 2 --target emulator --device h100
// certificate
// check: a tile of a temporary whose rows are numbered from -1, which was taken to end one row later
#include <stdio.h>
static int a[23][23][24][25];
static char b[120];

double f(void)
{
    float s = 1;
    float t = 1;
#pragma scop
    for (long i = -1; i < 7; i += 3) {
        double v[2];
        for (int j = 0; j < 2; j++)
            v[j] = 0.5 * s;
        for (int j = 7; j >= 2; j -= 2) {
            a[-j + 9][j - 1][-j + 8][0] = (b[(i + 1) * 10 + j] & 255) == (a[j - 1][j - 1][0][i + 1] & 255);
            for (int k = -i + 7; k < 8; k++)
                t = 0.5f * t + 0.5f * a[2 * i + 2][i + 1][2 * i + 3][j + 2] + 0.25f * v[1];
        }
    }
#pragma endscop
    return t;
}

int main(void)
{
    long sum = 0;
    for (int k = 0; k < 23 * 23 * 24 * 25; k++)
        ((int *)a)[k] = k * 37 % 101;
    for (int k = 0; k < 120; k++)
        b[k] = k * 7;
    printf("%a\n", f());
    for (int k = 0; k < 23 * 23 * 24 * 25; k++)
        sum += (k % 13 + 1) * (long)((int *)a)[k];
    printf("%ld\n", sum);
    return 0;
}
