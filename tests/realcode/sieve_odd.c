// device: count_divisors
#include <stdio.h>
void count_divisors(unsigned n, unsigned char *d)
{
    for (unsigned i = 1; i <= n; i++) {
        unsigned c = 0;
        for (unsigned k = 1; k * k <= i; k++)
            if (i % k == 0)
                c += k * k == i ? 1 : 2;
        d[i] = (unsigned char)c;
    }
}
int main(void)
{
    static unsigned char d[401];
    int primes = 0;
    count_divisors(400, d);
    for (int i = 1; i <= 400; i++) primes += d[i] == 2;
    printf("%d %d\n", primes, d[360]);
    return 0;
}
