// device: negate
#include <stdio.h>
void negate(int n, int *a) { for (int i = 0; i != n; ++i) a[i] = -a[i]; }
int main(void)
{
    int a[40], s = 0;
    for (int i = 0; i < 40; i++) a[i] = i;
    negate(40, a);
    for (int i = 0; i < 40; i++) s += a[i];
    printf("%d\n", s);
    return 0;
}
