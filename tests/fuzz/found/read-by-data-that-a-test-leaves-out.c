// flags: -O 1 --target emulator --device h100
// certificate
// refuted, though right: a subscript that data decide was taken to be read whatever tests of constants say, where
// the region never needs the array
#include <stdio.h>

static unsigned char a[14][15][13];

static int sum(int m)
{
    int s = 0;
    for (int i = 7; i >= 0; i--)
        if (i > 1)
            for (int jk = 0; jk < (i - 1) * (m + 1); jk++) {
                int j = 1 + jk / (m + 1), k = 1 + jk % (m + 1), t[4];
                for (int l = 0; l < 4; l++)
                    t[l] = (s & 63) - (j + l);
                if (6 < (t[2] & 1023))
                    s += (4 > 30 ? a[i + k][k + j][a[i][i][k - 1] & 7] : 5) & 15;
            }
    return s;
}

int main(void)
{
    printf("%d\n", sum(5));
    return 0;
}
