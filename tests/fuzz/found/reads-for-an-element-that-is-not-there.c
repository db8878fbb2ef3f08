// flags: -O 1 --target emulator --device gtx285 --proof 0.3
// certificate
// Where A1 has no element nothing is added to it, and less of A0 is read: as much was copied as if it were.
#include <stdio.h>
#include <stdlib.h>

static void f(int n, int m, const unsigned long *restrict A0, unsigned char A1[restrict 2 * n + 8])
{
#pragma scop
    for (int i = 0; i < m; i++) {
        for (int j = 0; j <= i; j++) {
            if (A0[i + 1] % 5 != 2) {
                int b = A0[i] & 1023;
                if (b < 8)
                    A1[b] ^= A0[i - j + m] & 63;
            }
        }
    }
#pragma endscop
}

int main(void)
{
    unsigned long A0[40];
    unsigned char A1[20] = {1, 2, 3};
    for (int i = 0; i < 40; i++)
        A0[i] = i * 7 % 11;
    f(6, 13, A0, A1);
    for (int i = 0; i < 20; i++)
        printf("%d\n", A1[i]);
    return 0;
}
