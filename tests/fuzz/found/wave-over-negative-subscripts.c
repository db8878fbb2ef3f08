// flags: -O 2 --target emulator --device generic
// certificate
// main_0_k0: reads a value that nobody computed: v, expanded over j, has elements in front of 0
#include <stdio.h>
static unsigned char A[300][400];

static void step(unsigned char *p, unsigned char v, int i)
{
    if (i > 4)
        goto end;
    *p += 15 & v;
end:
    if (v > 9)
        *p = i;
}

int main(void)
{
    for (int t = 0; t < 300 * 400; t++)
        A[t / 400][t % 400] = t * 7 % 251;
#pragma scop
    for (int i = 0; i < 129; i++) {
        for (int j = 29; j >= -1; j--)
            step(&A[i + 1][2 * i], A[2 * i + 1][2 * j + 2] & 63, j);
    }
#pragma endscop
    for (int t = 0; t < 300 * 400; t++)
        printf("%d\n", A[t / 400][t % 400]);
    return 0;
}
