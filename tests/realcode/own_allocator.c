// device: spmv centers
#include <stdio.h>
#include <stdlib.h>
struct node { float x, y; int kind; };
static void *xmalloc(size_t n) { void *p = malloc(n); if (p == NULL) { fprintf(stderr, "no memory\n"); exit(1); } return p; }
static void *zeroed(size_t n, size_t size) { return calloc(n, size); }
void spmv(int n, int nnz, const int *ptr, const int *col, const double *val, const double *x, double *y)
{
    for (int i = 0; i < n; i++) {
        double s = 0;
        for (int k = ptr[i]; k < ptr[i + 1]; k++)
            s += val[k] * x[col[k]];
        y[i] = s;
    }
}
void centers(int m, int n, const int (*tri)[3], const struct node *nodes, float *cx)
{
    for (int t = 0; t < m; t++) {
        float s = 0;
        for (int j = 0; j < 3; j++)
            s += nodes[tri[t][j]].x;
        cx[t] = s / 3;
    }
}
int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 100, nnz = 3 * n, m = 2 * n;
    int *ptr = xmalloc((n + 1) * sizeof(int)), *col = xmalloc(nnz * sizeof *col);
    double *val = (double *) xmalloc(sizeof(double) * nnz), *x = zeroed(n, sizeof(double)), *y = xmalloc(n * sizeof *y);
    int (*tri)[3] = xmalloc(m * sizeof *tri);
    struct node *nodes = xmalloc(n * sizeof(struct node));
    float *cx = xmalloc(m * sizeof(float));
    for (int i = 0; i < n; i++) ptr[i] = 3 * i;
    ptr[n] = nnz;
    for (int k = 0; k < nnz; k++) { col[k] = (k * 7) % n; val[k] = k * 0.5; }
    for (int i = 0; i < n; i++) { x[i] = i; nodes[i].x = i * 0.5f; nodes[i].y = -i; nodes[i].kind = i % 3; }
    for (int t = 0; t < m; t++) { tri[t][0] = t % n; tri[t][1] = (t * 5) % n; tri[t][2] = (t + 9) % n; }
    spmv(n, nnz, ptr, col, val, x, y);
    centers(m, n, (const int (*)[3]) tri, nodes, cx);
    for (int i = 0; i < n; i += 9) printf("%g %g\n", y[i], cx[i]);
    return 0;
}
