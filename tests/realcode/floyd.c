// device: floyd
#include <stdio.h>
#define V 24
int dist[V][V];
void floyd(void)
{
    int i, j, k;
    for (k = 0; k < V; k++)
        for (i = 0; i < V; i++)
            for (j = 0; j < V; j++)
                if (dist[i][k] + dist[k][j] < dist[i][j])
                    dist[i][j] = dist[i][k] + dist[k][j];
}
int main(void)
{
    for (int i = 0; i < V; i++) for (int j = 0; j < V; j++) dist[i][j] = i == j ? 0 : (i * 7 + j * 13) % 40 + 1;
    floyd();
    long s = 0;
    for (int i = 0; i < V; i++) for (int j = 0; j < V; j++) s += dist[i][j];
    printf("%ld\n", s);
    return 0;
}
