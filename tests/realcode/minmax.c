// device: range
#include <stdio.h>
void range(int n, const int *a, int *lowest, int *highest)
{
    int lo = a[0], hi = a[0];
    for (int i = 1; i < n; i++) {
        if (a[i] < lo) lo = a[i];
        if (a[i] > hi) hi = a[i];
    }
    *lowest = lo;
    *highest = hi;
}
int main(void)
{
    static int a[2500];
    int lo, hi;
    for (int i = 0; i < 2500; i++) a[i] = (i * 7919) % 5003 - 2000;
    range(2500, a, &lo, &hi);
    printf("%d %d\n", lo, hi);
    return 0;
}
