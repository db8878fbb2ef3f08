// device: twice
#include <stdio.h>
void twice(int *first, int *last)
{
    int *p;
    for (p = first; p != last; ++p)
        *p *= 2;
}
int main(void)
{
    int a[64], s = 0;
    for (int i = 0; i < 64; i++) a[i] = i;
    twice(a, a + 64);
    for (int i = 0; i < 64; i++) s += a[i];
    printf("%d\n", s);
    return 0;
}
