// flags: -O 1 --target emulator --device h100 --reassociate
// crash
// runtime error: signed integer overflow: 2147483647 + 1 cannot be represented in type 'int'
#include <stdio.h>

static float A[2][33];

int main(void)
{
    int place = 2;
    double most = 1;
#pragma scop
    most = 5;
    for (int i = 31; i >= -1; i -= 2) {
        if (!(((double)(A[0][i + 1])) <= most)) {
            most = (double)A[0][i + 1];
            place = i + 1;
        }
    }
#pragma endscop
    printf("%g %d\n", most, place);
    return 0;
}
