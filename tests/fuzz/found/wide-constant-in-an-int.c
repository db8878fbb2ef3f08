// flags: -O 1 --target emulator --device 8800gtx
// traceback
// an int that is set to an unsigned long before the loop had that value, not the int that it is converted to
#define N 17ul
#include <stdio.h>
static int A[80], B[80];
void f(void)
{
    int u;
    u = -(N - 1) + 3;
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 3; k++) A[-u + 3 * i + k] += B[-2 * u + 8 - i] + i;
        u = u + 2;
    }
}
int main(void) { for (int i = 0; i < 40; i++) B[i] = i * i; f(); for (int i = 0; i < 40; i++) printf("%d ", A[i]); puts(""); return 0; }
