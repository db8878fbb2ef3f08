// device: knapsack
#include <stdio.h>
#include <string.h>
int best[2][201];
int knapsack(int n, const int *weight, const int *value, int cap)
{
    memset(best, 0, sizeof best);
    for (int i = 0; i < n; i++)
        for (int w = 0; w <= cap; w++) {
            int skip = best[i % 2][w];
            best[(i + 1) % 2][w] = skip;
            if (w >= weight[i] && best[i % 2][w - weight[i]] + value[i] > skip)
                best[(i + 1) % 2][w] = best[i % 2][w - weight[i]] + value[i];
        }
    return best[n % 2][cap];
}
int main(void)
{
    int w[12], v[12];
    for (int i = 0; i < 12; i++) { w[i] = 5 + i * 3; v[i] = 10 + (i * 7) % 13; }
    printf("%d\n", knapsack(12, w, v, 200));
    return 0;
}
