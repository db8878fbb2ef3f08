// flags: -O 1 --target emulator --device h100
// crash
// a pointer of a structure is read by an arm alone that is never taken, and by loops: where these do not run it was passed as null, and what the arm would need was copied from there
#include <stdio.h>

struct held { int n; int *a; };

void f(struct held *h, double *restrict b)
{
#pragma scop
    for (int i = 0; i < 8; i++)
        b[i] -= 0.125 * (7 > 0.5 ? 7 : h->a[i]);
    for (int i = 0; i < h->n; i++)
        b[i] += h->a[i];
#pragma endscop
}

int main(void)
{
    int a[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    double b[8] = {0};
    struct held none = {0, NULL}, some = {8, a};
    f(&none, b);
    f(&some, b);
    for (int i = 0; i < 8; i++)
        printf("%g\n", b[i]);
    return 0;
}
