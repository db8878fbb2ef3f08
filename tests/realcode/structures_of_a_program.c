// device: gainit mm push layer_forward net_forward localproto dblbuf chan
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
typedef struct { int w, h; float *data; } image;
typedef struct { image in, out; float gain; } pipe_t;
typedef struct { int n; double **row; } matrix;
typedef struct particle { float pos[3], vel[3]; float mass; struct particle *next; } particle;
typedef struct { particle *p; int n; } cloud;
struct layer { int in, out; float *w, *b; };
struct net { int layers; struct layer *layer; };
void gainit(pipe_t *p)
{
    for (int y = 0; y < p->in.h; y++)
        for (int x = 0; x < p->in.w; x++)
            p->out.data[y * p->out.w + x] = p->in.data[y * p->in.w + x] * p->gain;
}
void mm(matrix *c, const matrix *a, const matrix *b)
{
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < a->n; j++) {
            double s = 0;
            for (int k = 0; k < a->n; k++)
                s += a->row[i][k] * b->row[k][j];
            c->row[i][j] = s;
        }
}
void push(cloud *c, float dt)
{
    for (int i = 0; i < c->n; i++) {
        particle *p = &c->p[i];
        for (int d = 0; d < 3; d++)
            p->pos[d] += p->vel[d] * dt;
    }
}
void layer_forward(const struct layer *l, const float *x, float *y)
{
    for (int o = 0; o < l->out; o++) {
        float s = l->b[o];
        for (int i = 0; i < l->in; i++)
            s += l->w[o * l->in + i] * x[i];
        y[o] = s > 0 ? s : 0;
    }
}
void net_forward(const struct net *n, float *buf)
{
    for (int k = 0; k < n->layers; k++) {
        const struct layer *l = &n->layer[k];
        float tmp[64];
        for (int o = 0; o < l->out; o++) {
            float s = l->b[o];
            for (int i = 0; i < l->in; i++)
                s += l->w[o * l->in + i] * buf[i];
            tmp[o] = tanhf(s);
        }
        for (int o = 0; o < l->out; o++)
            buf[o] = tmp[o];
    }
}
void localproto(float *a, int n)
{
    float helper(float, int);
    for (int i = 0; i < n; i++)
        a[i] = helper(a[i], i);
}
float helper(float x, int k) { return x * k + 1; }
void swap_rows(double **a, double *b, int n)
{
    for (int k = 0; k < n - 1; k++) {
        int piv = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(a[i][k]) > fabs(a[piv][k])) piv = i;
        if (piv != k) {
            double *t = a[k]; a[k] = a[piv]; a[piv] = t;
            double u = b[k]; b[k] = b[piv]; b[piv] = u;
        }
        for (int i = k + 1; i < n; i++) {
            double f = a[i][k] / a[k][k];
            for (int j = k; j < n; j++)
                a[i][j] -= f * a[k][j];
            b[i] -= f * b[k];
        }
    }
}
void dblbuf(float *a, float *b, int n, int steps)
{
    float *src = a, *dst = b;
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            dst[i] = 0.25f * src[i - 1] + 0.5f * src[i] + 0.25f * src[i + 1];
        float *tmp = src; src = dst; dst = tmp;
    }
}
void chan(float *img[3], int n)
{
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < n; i++)
            img[c][i] = img[c][i] * 0.5f + c;
}
int main(void)
{
    enum { N = 32 };
    static float d1[N * N], d2[N * N], x[N], y[N], buf[64], wts[3][N * N], bs[3][N];
    for (int i = 0; i < N * N; i++) d1[i] = i % 17;
    pipe_t p = {{N, N, d1}, {N, N, d2}, 1.5f};
    gainit(&p);
    double *ra[N], *rb[N], *rc[N], v[N];
    for (int i = 0; i < N; i++) {
        ra[i] = calloc(N, 8); rb[i] = calloc(N, 8); rc[i] = calloc(N, 8); v[i] = i;
        for (int j = 0; j < N; j++) { ra[i][j] = (i * 3 + j * 5) % 7; rb[i][j] = (i + j) % 5; }
        ra[i][i] = 40 - i;
    }
    matrix a = {N, ra}, b = {N, rb}, c = {N, rc};
    mm(&c, &a, &b);
    static particle ps[N];
    for (int i = 0; i < N; i++) for (int k = 0; k < 3; k++) { ps[i].pos[k] = i; ps[i].vel[k] = k; }
    cloud cl = {ps, N};
    push(&cl, 0.5f);
    for (int l = 0; l < 3; l++) for (int i = 0; i < N * N; i++) wts[l][i] = (i * (l + 2)) % 13 * 0.01f;
    struct layer ly[3] = {{N, N, wts[0], bs[0]}, {N, N, wts[1], bs[1]}, {N, N, wts[2], bs[2]}};
    struct net nt = {3, ly};
    for (int i = 0; i < N; i++) x[i] = buf[i] = i * 0.1f;
    layer_forward(&ly[0], x, y);
    net_forward(&nt, buf);
    localproto(x, N);
    swap_rows(ra, v, N);
    dblbuf(d1, d2, N * N, 7);
    float *ch[3] = {wts[0], wts[1], wts[2]};
    chan(ch, N * N);
    for (int i = 0; i < N; i += 5) printf("%g %g %g %g %g %g %g %g %g\n", d1[i + 40], d2[i + 40], x[i], y[i], buf[i], v[i], rc[i][3], ps[i].pos[1], wts[1][i]);
    return 0;
}
