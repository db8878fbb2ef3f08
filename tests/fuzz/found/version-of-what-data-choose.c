// flags: -O 1 --target emulator --device h100 --decide 'p0: expand(A1: i)'
// certificate
// A read at a subscript that depends on data was one of another array than the source's, since all values of
// an array that is live behind the region have a temporary of another name.

#include <stdio.h>

static int A0[31][34];
static int A1[16][18];

static void p0(void)
{
#pragma scop
    for (int i = 0; i < 2; i++) {
        for (int j = 1; j < 16; j++)
            for (int k = 1; k < 17; k++)
                A1[j][k] = (A0[j - 1][k] & 63) + (A0[j + 1][k] & 15);
        for (int j = 1; j < 15; j++)
            for (int k = 16; k >= 1; k--) {
                int c7;
                if (k % 40 * (k % 40) % 3 == 1)
                    c7 = j;
                else {
                    c7 = j - 1;
                    c7++;
                }
                A0[j][k] = (A1[j][k] & 63) + (A1[j + 1][k] & 31) + (A1[c7][k] & 7);
            }
    }
#pragma endscop
}

int main(void)
{
    unsigned long sum = 0;
    for (int j = 0; j < 31; j++)
        for (int k = 0; k < 34; k++)
            A0[j][k] = j * 29 + k * 7;
    p0();
    for (int j = 0; j < 16; j++)
        for (int k = 0; k < 18; k++)
            sum = sum * 3 + A0[j][k] + A1[j][k];
    printf("%lu\n", sum);
    return 0;
}
