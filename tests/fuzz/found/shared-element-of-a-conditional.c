// flags: -O 1 --target emulator --device generic
// certificate: an element that is read where a conditional says so was taken to be read where data say so alone
#include <stdio.h>
static int A[164][193], B[64], out[64];
static void f(void)
{
#pragma scop
    for (int i = 32; i > 0; i--)
        for (int j = i + 1; j < 96; j++)
            if (B[i] > 3)
                out[i] += i + 2 > 30 ? A[i - j + 96][96 - j] : 5;
#pragma endscop
}
int main(void)
{
    for (int i = 0; i < 164 * 193; i++)
        A[i / 193][i % 193] = i * 7 % 13;
    for (int i = 0; i < 64; i++)
        B[i] = i * 5 % 11;
    f();
    for (int i = 0; i < 64; i++)
        printf("%d ", out[i]);
    puts("");
    return 0;
}
