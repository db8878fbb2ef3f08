// device:
#include <stdio.h>
int find(int n, const int *a, int x)
{
    for (int i = 0; i < n; i++)
        if (a[i] == x)
            return i;
    return -1;
}
int main(void)
{
    int a[100];
    for (int i = 0; i < 100; i++) a[i] = (i * 37) % 101;
    printf("%d %d\n", find(100, a, 5), find(100, a, 1000));
    return 0;
}
