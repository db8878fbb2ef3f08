// flags: -O 0 --target emulator --device h100 --decide 'version(a)'
// traceback
// a copy of old values was told apart once more, and its domain had lost the names of its iterators
#include <stdio.h>

static long a[7][7];

static void steps(void)
{
#pragma scop
    for (int i = 1; i < 7; i++) {
        a[i][0] = (a[i][0] & 4095) + (a[0][i] & 63) + (a[i - 1][0] & 31);
        for (int j = 1; j < 5; j++) {
            a[i][j] += ((a[i][j] & 63) + (a[i][0] & 31) + (a[i][j - 1] & 15)) & 15;
            a[i][j - 1] = (a[i][0] & 63) + (a[i][0] & 31) + (a[i][j - 1] & 15);
        }
        a[i][0] = (a[i][0] & 4095) + (a[i][0] & 63);
        for (int j = 1; j < 5; j++)
            a[i][j] = (a[i][j] & 63) + (a[i][j] & 31) + (a[j][i] & 15);
        a[0][i] = (a[0][i] & 4095) + (a[0][i] & 63);
    }
#pragma endscop
}

int main(void)
{
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 7; j++)
            a[i][j] = (i * 7 + j) * 37 % 101;
    steps();
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 7; j++)
            printf("%ld\n", a[i][j]);
    return 0;
}
