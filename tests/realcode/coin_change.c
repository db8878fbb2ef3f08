// device: ways
#include <stdio.h>
void ways(int coins, const int *value, int target, long long w[coins + 1][target + 1])
{
    for (int t = 0; t <= target; t++)
        w[0][t] = t == 0;
    for (int c = 1; c <= coins; c++)
        for (int t = 0; t <= target; t++) {
            long long total = 0;
            for (int use = t; use >= 0; use -= value[c - 1])
                total += w[c - 1][use];
            w[c][t] = total;
        }
}
int main(void)
{
    int value[5] = {1, 2, 5, 10, 20};
    static long long w[6][101];
    ways(5, value, 100, w);
    printf("%lld %lld\n", w[5][100], w[3][37]);
    return 0;
}
