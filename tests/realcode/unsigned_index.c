// device: fill
#include <stdio.h>
void fill(unsigned n, unsigned m, unsigned *a)
{
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < m; j++)
            a[i * m + j] = i ^ j;
}
int main(void)
{
    static unsigned a[20 * 30];
    unsigned s = 0;
    fill(20, 30, a);
    for (int i = 0; i < 600; i++) s = s * 3 + a[i];
    printf("%u\n", s);
    return 0;
}
