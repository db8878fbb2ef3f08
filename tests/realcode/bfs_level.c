// device: relax
#include <stdio.h>
#define N 40
int relax(int n, const int *start, const int *adj, const int *dist, int *next)
{
    int changed = 0;
    for (int v = 0; v < n; v++) {
        int best = dist[v];
        for (int e = start[v]; e < start[v + 1]; e++)
            if (dist[adj[e]] + 1 < best)
                best = dist[adj[e]] + 1;
        next[v] = best;
        changed |= best != dist[v];
    }
    return changed;
}
int main(void)
{
    int start[N + 1], adj[2 * N], d[2][N], k = 0, rounds = 0;
    for (int v = 0; v < N; v++) {
        start[v] = 2 * v;
        adj[2 * v] = (v + N - 1) % N;
        adj[2 * v + 1] = (v * 7 + 3) % N;
        d[0][v] = v == 0 ? 0 : 1000;
    }
    start[N] = 2 * N;
    while (relax(N, start, adj, d[k], d[1 - k])) {
        k = 1 - k;
        rounds++;
    }
    long s = 0;
    for (int v = 0; v < N; v++)
        s = s * 3 % 100003 + d[k][v];
    printf("%d %ld\n", rounds, s);
    return 0;
}
