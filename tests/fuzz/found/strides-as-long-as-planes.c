// flags: --target emulator --proof 0.5
// slow
/* Conditional stores to a flat array of three dimensions: isl took minutes for one step of the certificate,
 * whose numbers grew out of what a word holds, and no budget ended it. */
#include <stdio.h>
#include <stdlib.h>

static inline unsigned long mix(unsigned long a, int b) { return a * 3 + b; }

static void f(unsigned long a[64], unsigned long *restrict b)
{
#pragma scop
    for (int i = 1; i < 7; i++) {
        for (int j = i; j < 32 && j < 32; j++) {
            for (int k = 8 - i - 1; k >= 1; k--) {
                if (i == j) {
                    b[((0) * 49 + k + 2) * 56 + i] = (b[((0) * 49 + k + 2) * 56 + i] & 4095) + (a[i + 1] & 511) - (b[((k) * 49 + j - 1) * 56 + k - 1] & 63);
                } else {
                    float t0 = 0.5f * a[k + 1] + 0.25f * b[((0) * 49 + (-j + 31)) * 56 + k + 2];
                    if (i >= i) {
                        if (a[j] <= 6) {
                            if ((b[((i - 1) * 49 + k - 1) * 56 + j + 1] & 1023) > (a[j] & 1023)) {
                                a[1] = (a[k + 2] & 255);
                            } else {
                                a[2 * i - 1] = (b[((k) * 49 + k + 1) * 56 + 2 * i + 2] & 63) >> 1;
                                b[((j - 1) * 49 + k + i - 1) * 56 + i + 1] = (b[((i - 1) * 49 + k + 2) * 56 + i] & 255) - (b[((k) * 49 + k) * 56 + j - k + 8] & 255);
                            }
                        } else {
                            a[-i + 7 + 1] ^= mix((a[k - 1] & 255), (i + 2));
                            if (i == 1) {
                                if (j < i || j > 3) {
                                    b[((k + 1) * 49 + k - 1) * 56 + 1] = b[((k + 1) * 49 + k - 1) * 56 + 1] * 3u + (a[2 * i] & 63) > 30 ? (b[((-i + 7) * 49 + j) * 56 + i + k] & 255) : 5;
                                }
                            } else {
                                if (!(b[((-i + 7) * 49 + k) * 56 + (-j + 31)] < a[k])) {
                                    b[((j + i + 2) * 49 + k) * 56 + j + 1] = (unsigned char)(1);
                                }
                            }
                        }
                    }
                    b[((2 * i - 1) * 49 + j + 2) * 56 + i - 1] ^= ~(a[j + 2] & 63);
                }
            }
        }
    }
#pragma endscop
}

int main(void)
{
    static unsigned long a[64];
    int size = 45 * 49 * 56;
    unsigned long *b = malloc(size * sizeof *b), sum = 0;
    for (int i = 0; i < 64; i++)
        a[i] = i * 7 % 13;
    for (int i = 0; i < size; i++)
        b[i] = i * 5 % 17;
    f(a, b);
    for (int i = 0; i < 64; i++)
        sum = sum * 31 + a[i];
    for (int i = 0; i < size; i++)
        sum = sum * 31 + b[i];
    printf("%lu\n", sum);
    free(b);
    return 0;
}
