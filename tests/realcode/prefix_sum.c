// device:
#include <stdio.h>
void scan(int n, int *a)
{
    for (int i = 1; i < n; i++)
        a[i] += a[i - 1];
}
int main(void)
{
    int a[100];
    for (int i = 0; i < 100; i++) a[i] = i;
    scan(100, a);
    printf("%d %d\n", a[50], a[99]);
    return 0;
}
