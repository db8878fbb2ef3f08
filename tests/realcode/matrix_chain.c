// device: order
#include <stdio.h>
#define N 12
static long cost[N][N];
long order(const int *p, int n)
{
    for (int len = 2; len <= n; len++)
        for (int i = 0; i + len <= n; i++) {
            int j = i + len - 1;
            long best = 1L << 40;
            for (int k = i; k < j; k++) {
                long c = cost[i][k] + cost[k + 1][j] + (long)p[i] * p[k + 1] * p[j + 1];
                if (c < best)
                    best = c;
            }
            cost[i][j] = best;
        }
    return cost[0][n - 1];
}
int main(void)
{
    int p[N + 1];
    for (int i = 0; i <= N; i++) p[i] = 3 + (i * 7) % 11;
    printf("%ld\n", order(p, N));
    return 0;
}
