// device: clear
#include <stdio.h>
void clear(const int *n, short *a) { for (int i = 0; i < *n; i++) a[i] = 0; }
int main(void)
{
    short a[40];
    int n = 30;
    for (int i = 0; i < 40; i++) a[i] = i;
    clear(&n, a);
    printf("%d %d\n", a[29], a[30]);
    return 0;
}
