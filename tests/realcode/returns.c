// device: returns
#include <stdio.h>
#include <math.h>
void returns(int n, const double price[], double out[])
{
    double last = price[0];
    for (int i = 1; i < n; i++) {
        out[i - 1] = log(price[i] / last);
        last = price[i];
    }
}
int main(void)
{
    double p[100], r[100] = {0};
    for (int i = 0; i < 100; i++) p[i] = 50 + (i * 7) % 11;
    returns(100, p, r);
    for (int i = 0; i < 99; i += 11) printf("%.9f\n", r[i]);
    return 0;
}
