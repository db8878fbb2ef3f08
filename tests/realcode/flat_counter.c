// device: fill
#include <stdio.h>
void fill(int n, int m, int *a)
{
    int k = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            a[k++] = i * j;
}
int main(void)
{
    static int a[18 * 23];
    int s = 0;
    fill(18, 23, a);
    for (int i = 0; i < 18 * 23; i++) s += a[i] * (i % 4);
    printf("%d\n", s);
    return 0;
}
