// flags: -O 1 --target emulator --device gtx285 --reassociate
// certificate
// An update of a branch and a piece of another one had one name, and the piece's instances were lost.

#include <stdio.h>

static int a[9][11], e[5];

static int f(void)
{
    int s = 1, t = 5;
#pragma scop
    for (int i = 4; i > 0; i -= 2) {
        e[i] = 0;
        for (int j = 0; j <= i; j++) {
            a[i][i + j + 1] = 20 - 3 * j;
            if (a[i][i + j + 1] > e[i])
                e[i] = a[i][i + j + 1];
            if (a[j + 4][i] > 3) {
                e[i] += a[j + i][2 * i - 1] > 4;
                s |= a[i - 1][i + j + 1] & 63;
                t += a[j][j + i + 1];
            }
        }
    }
#pragma endscop
    return 100 * t + s;
}

int main(void)
{
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 11; j++)
            a[i][j] = (7 * i + 5 * j + 4) % 19;
    printf("%d\n", f());
    for (int i = 0; i < 5; i++)
        printf("%d\n", e[i]);
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 11; j++)
            printf("%d\n", a[i][j]);
    return 0;
}
