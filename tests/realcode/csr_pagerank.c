// device: pagerank_step
#include <stdio.h>
#define V 20
typedef struct {
    int n;
    const int *row_ptr;
    const int *col;
    const double *inv_deg;
} graph;
void pagerank_step(const graph *g, const double *rank, double *next, double damp)
{
    for (int v = 0; v < g->n; ++v) {
        double s = 0.0;
        for (int e = g->row_ptr[v]; e < g->row_ptr[v + 1]; ++e) {
            int u = g->col[e];
            s += rank[u] * g->inv_deg[u];
        }
        next[v] = (1.0 - damp) / g->n + damp * s;
    }
}
int main(void)
{
    int ptr[V + 1], col[V * 3];
    double inv[V], a[V], b[V];
    for (int v = 0; v < V; v++) {
        ptr[v] = v * 3;
        col[v * 3] = (v + 1) % V;
        col[v * 3 + 1] = (v * 3 + 2) % V;
        col[v * 3 + 2] = (v * v) % V;
        inv[v] = 1.0 / (1 + v % 4);
        a[v] = 1.0 / V;
    }
    ptr[V] = V * 3;
    graph g = {V, ptr, col, inv};
    for (int it = 0; it < 6; it++) {
        pagerank_step(&g, a, b, 0.85);
        for (int v = 0; v < V; v++)
            a[v] = b[v];
    }
    printf("%.8f %.8f\n", a[0], a[13]);
    return 0;
}
