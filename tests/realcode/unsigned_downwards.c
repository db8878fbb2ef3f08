// device: one_less prefix_free bytes walked rows
#include <stdio.h>
#include <stddef.h>
void one_less(unsigned n, const int *a, int *b)
{
    for (unsigned i = n; i-- > 0;)
        b[i] = a[i] - 1;
}
void prefix_free(size_t n, const int *a, int *b)
{
    size_t k = n;
    while (k-- > 0)
        b[k] += a[n - 1 - k];
}
void bytes(int *b)
{
    for (unsigned char c = 40; c-- > 0;)
        b[c] ^= c;
}
unsigned walked(unsigned n, int *b)
{
    unsigned i;
    for (i = n; i-- > 0;)
        b[i] *= 3;
    return i;
}
static int above(const int *row, unsigned m, int limit)
{
    int found = 0;
    for (unsigned k = m; k-- > 0;)
        found += row[k] > limit;
    return found;
}
void rows(int n, const int *a, int *b)
{
    for (int k = 0; k < n; k++)
        b[k] += above(a + 5 * k, 5, k);
}
int main(void)
{
    int a[50], b[50] = {0}, sum = 0;
    unsigned ends[2];
    for (int i = 0; i < 50; i++) a[i] = i * i % 17;
    one_less(50, a, b);
    one_less(0, a, b);
    prefix_free(50, a, b);
    prefix_free(0, a, b);
    bytes(b);
    rows(10, a, b);
    ends[0] = walked(50, b);
    ends[1] = walked(0, b);
    for (int i = 0; i < 50; i++) sum += b[i] * (i + 1);
    printf("%d %d %d %u %u\n", b[0], b[49], sum, ends[0], ends[1]);
    return 0;
}
