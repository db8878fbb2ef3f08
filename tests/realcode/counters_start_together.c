// device: keep
#include <stdio.h>
static int a[300], b[150];
static int keep(int n)
{
    int i, j, k;
    for (i = j = 0; i < n; ++i, j += 2)
        b[i] = a[j] * 3 + a[j + 1];
    for (i = j = k = 0; i < n; ++i) {
        a[j] = b[i];
        a[j + 1] = b[i] - k;
        j += 2;
        k += 3;
    }
    return j + k;
}
int main(void)
{
    for (int i = 0; i < 300; i++) a[i] = i * i % 101;
    printf("%d\n", keep(150));
    for (int i = 0; i < 300; i += 7) printf("%d\n", a[i]);
    return 0;
}
