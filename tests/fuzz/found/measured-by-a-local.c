// flags: -O 1 --target emulator --device generic
// build
// What tells the subscript is a scalar of the region, and a local of its statement where this is one for all.
#include <stdio.h>
static int pool[100];
static void f(int n, const int next[restrict n], const float *u, float y[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        int nb = next[i];
        nb = nb / 2;
        y[i] = u[nb] + u[nb + 3];
    }
#pragma endscop
}
int main(void)
{
    int next[9] = {3, 4, 1, 8, 0, 7, 2, 5, 6};
    float *u = (float *)(pool + 90), y[9];
    for (int k = 0; k < 7; k++) u[k] = 3 * k;
    f(9, next, u, y);
    for (int k = 0; k < 9; k++) printf("%g\n", y[k]);
    return 0;
}
