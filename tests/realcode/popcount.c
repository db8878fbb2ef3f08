// device: popcounts
#include <stdio.h>
void popcounts(int n, const unsigned *a, int *bits)
{
    for (int i = 0; i < n; i++) {
        unsigned v = a[i];
        int c = 0;
        for (; v; v &= v - 1) c++;
        bits[i] = c;
    }
}
int main(void)
{
    unsigned a[200];
    int b[200], s = 0;
    for (int i = 0; i < 200; i++) a[i] = i * 2654435761u;
    popcounts(200, a, b);
    for (int i = 0; i < 200; i++) s += b[i] * (i % 3);
    printf("%d\n", s);
    return 0;
}
