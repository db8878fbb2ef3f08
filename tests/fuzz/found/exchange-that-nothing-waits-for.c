// flags: -O 2 --target emulator --device h100
// check
// Threads of a tile of time exchange what is at their rims behind each statement. No instance of the last one
// reads what the one before it writes, so they did not wait for each other, and exchanged it all the same.

#include <stdio.h>

static int b[4];

static void store(int *p, int v, int i)
{
    switch (i & 3) {
    case 1:
    case 3:
        return;
    default:
        p[0] = v;
    }
}

static void f(int a[4])
{
#pragma scop
    for (int i = 0; i < 2; i++) {
        for (int j = 1; j < 3; j++)
            store(&b[j + 1], (a[j + 1] & 63) + (a[j - 1] & 31) + (a[j] & 15), j);
        for (int j = 1; j < 3; j++)
            a[j] = (b[j - 1] & 63) + (b[j] & 15);
    }
#pragma endscop
}

int main(void)
{
    int a[4] = { 5, 77, 130, 9 };
    b[1] = 40;
    f(a);
    for (int i = 0; i < 4; i++)
        printf("%d %d\n", a[i], b[i]);
    return 0;
}
