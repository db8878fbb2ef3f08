// flags: -O 1 --target emulator --device 8800gtx
// certificate
// sizes that have to be odd: none of them is the largest one that kernels count to, and the call did not test that they are no larger
#include <stdio.h>

static int toint(double x) { return x > -1000 && x < 1000 ? (int)x : 7; }

void f(int n, unsigned int *restrict A)
{
#pragma scop
    for (unsigned long i = n - 1; i < n; i--) {
        A[0] = 1;
        for (int j = n + 1; j >= i + 1; j -= 2)
            A[0] += 15 & toint(8);
    }
#pragma endscop
}

int main(void)
{
    unsigned int a = 5;
    f(33, &a);
    printf("%u\n", a);
    return 0;
}
