// device: last
#include <stdio.h>
#include <stdlib.h>
/* A start that is the smaller of two unsigned values, and a loop that counts down to 0. */
static int last(unsigned n, unsigned m, int *a)
{
    int c = 8;
#pragma scop
    for (int i = m - 1 < n - 2 ? m - 1 : n - 2; i >= 0; i--) {
        c = m + i;
        a[i] = c;
    }
#pragma endscop
    return c;
}
int main(void)
{
    int a[16] = {0};
    printf("%d\n", last(2, 3, a));
    printf("%d %d %d\n", last(7, 16, a), a[0], a[5]);
    return 0;
}
