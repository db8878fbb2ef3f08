// device: shift
#include <stdio.h>
void shift(int n, int by, const int *a, int *b)
{
    int i = n;
    while (i-- > by)
        b[i] = a[i - by];
}
int main(void)
{
    int a[50], b[50] = {0};
    for (int i = 0; i < 50; i++) a[i] = i * i;
    shift(50, 4, a, b);
    printf("%d %d\n", b[4], b[49]);
    return 0;
}
