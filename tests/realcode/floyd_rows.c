// device: shortest
#include <stdio.h>
#include <stdlib.h>
#define INF 1000000
void shortest(int **dist, int n)
{
    int i, j, k;
    for (k = 0; k < n; k++)
        for (i = 0; i < n; i++)
            for (j = 0; j < n; j++)
                if (dist[i][k] + dist[k][j] < dist[i][j])
                    dist[i][j] = dist[i][k] + dist[k][j];
}
int main(void)
{
    int n = 18, **d = malloc(n * sizeof(int *));
    for (int i = 0; i < n; i++) {
        d[i] = malloc(n * sizeof(int));
        for (int j = 0; j < n; j++)
            d[i][j] = i == j ? 0 : (i * 5 + j * 3) % 4 == 0 ? 1 + (i * j) % 9 : INF;
    }
    shortest(d, n);
    long s = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            s = (s * 31 + d[i][j]) % 1000007;
    printf("%ld\n", s);
    return 0;
}
