// flags: --target emulator --device generic
// the dataflow of t.v[0] came back as text that isl does not read: names have no brackets there
#include <stdio.h>
struct pair {
    int v[2];
};
static int A[40], B[40];
static void kernel(void)
{
    struct pair t;
#pragma scop
    for (int i = 1; i < 40; i += 3) {
        for (int k = 2; k < 32; k += 2)
            t.v[0] = A[i] + k;
        t.v[1] = t.v[0] + i;
        B[i] = t.v[0] * t.v[1];
    }
#pragma endscop
}
int main(void)
{
    for (int i = 0; i < 40; i++)
        A[i] = i * 7 % 13;
    kernel();
    for (int i = 0; i < 40; i++)
        printf("%d\n", B[i]);
    return 0;
}
