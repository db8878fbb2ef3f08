// flags: -O 1 --target emulator --device 8800gtx
// traceback
// a[i + 1] is an element where a[c] = ... runs in no iteration; a copy of what it was before was made of none.
#include <stdio.h>

int f(int a[17])
{
    int u = 5;
    for (int i = -1; i < 7; i++) {
        int c = i + 1;
        printf("%d\n", a[c]);
        u = -8;
        for (int j = 6; j >= i + 1; u += 1, j--) {
            if ((a[2 * i + 3] & 1023) > (a[2 * i + 3] & 1021)) {
                for (int k = 0; k >= j + 1; k--) {
                    for (int l = k; l < 7; l++) {
                        c = k + 2;
                        a[c] = (a[c] & 4095) + (a[i + 1] & 63) / 3;
                    }
                }
            } else {
                a[j] = 12;
            }
        }
    }
    return u;
}

int main(void)
{
    int a[17];
    for (int e = 0; e < 17; e++)
        a[e] = 3 * e + 1;
    printf("%d\n", f(a));
    for (int e = 0; e < 17; e++)
        printf("%d\n", a[e]);
    return 0;
}
