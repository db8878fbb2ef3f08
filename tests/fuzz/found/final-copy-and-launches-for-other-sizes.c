// flags: -O 2 --target emulator --device 8800gtx
// certificate
// refuted, though right: a copy of final values was taken to stand before what a later kernel reads where it
// is launched for other sizes only
#include <stdio.h>

static float a[300];

static unsigned long f(int p)
{
    unsigned long s = 1;
#pragma scop
    for (int i = 0; i < 128; i++) {
        for (int j = 0; j < 1; j++) {
            if (j + 2 < 5 && p != 3) {
                if (j != 1) {
                    a[i] = 0.5f * a[i] + 0.5f * a[j + 1] + 0.25f * 2;
                } else {
                    a[i + 1] = 0.5f * a[i + 1] + 0.5f * a[2 * j] + 0.25f * 5 + 0.125f * s;
                }
            } else {
                s -= (s & 255) * (i + 2);
            }
        }
        a[i] = 0.5 * s + 0.25 * a[i % 129] + 0.125 * a[i];
    }
#pragma endscop
    return s;
}

int main(void)
{
    for (int p = 3; p < 5; p++) {
        for (int i = 0; i < 300; i++)
            a[i] = i;
        printf("%lu\n", f(p));
        for (int i = 0; i < 300; i++)
            printf("%g\n", a[i]);
    }
    return 0;
}
