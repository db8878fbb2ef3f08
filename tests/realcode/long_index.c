// device: add
#include <stdio.h>
void add(long n, const long *a, const long *b, long *c)
{
    long i;
    for (i = 0; i < n; i++)
        c[i] = a[i] + b[i];
}
int main(void)
{
    long a[70], b[70], c[70], s = 0;
    for (int i = 0; i < 70; i++) { a[i] = i * 1000000007L; b[i] = -i; }
    add(70, a, b, c);
    for (int i = 0; i < 70; i++) s += c[i];
    printf("%ld\n", s);
    return 0;
}
