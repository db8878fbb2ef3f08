// device: vadd
#include <stdio.h>
int kr(a, b) int a; int b; { return a - b; }
void vadd(int n, int *a, int *b) { int i; for (i = 0; i < n; i++) a[i] += b[i]; }
int main(void)
{
    int a[30], b[30];
    for (int i = 0; i < 30; i++) { a[i] = i; b[i] = kr(i, 2); }
    vadd(30, a, b);
    printf("%d\n", a[29]);
    return 0;
}
