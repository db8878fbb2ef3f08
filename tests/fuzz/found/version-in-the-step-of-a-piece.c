// flags: -O 1 --target emulator --device generic
// differs
// A version of what a step finds was placed in the steps of one piece of a statement, which has none where the
// version is read: without a place in the source's order it was made behind all that reads it.

#include <stdio.h>

static void smallest(long a[restrict 41])
{
    for (int i = 0; i < 2; i++)
        for (int j = -1; j < 32; j++) {
            for (int k = i; k > i - 1; k--)
                a[j + 3] ^= (a[k + 1] & 255) < (a[j + 3] & 255) ? (a[k + 1] & 255) : (a[j + 3] & 255);
            a[-j + 32] = 1;
        }
    for (int i = 2; i >= -1; i--)
        a[2 * i + 3] = (a[0] & 255) - (a[i + 2] & 255);
}

int main(void)
{
    long a[41], sum = 0;
    for (int i = 0; i < 41; i++)
        a[i] = i * 40503 % 65521;
    smallest(a);
    for (int i = 0; i < 41; i++)
        sum = sum * 3 + a[i];
    printf("%ld\n", sum);
    return 0;
}
