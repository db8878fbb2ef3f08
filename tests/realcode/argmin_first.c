// device: nearest
#include <stdio.h>
int nearest(int n, const int *d)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        if (d[i] < d[best])
            best = i;
    return best;
}
int main(void)
{
    static int d[1500];
    for (int i = 0; i < 1500; i++) d[i] = (i * 7919 + 13) % 1499;
    printf("%d\n", nearest(1500, d));
    return 0;
}
