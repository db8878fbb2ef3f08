// device: weighted activated together scaled shifted counted
#include <stdio.h>

struct layer {
    int n;
    float *bias;
    float **rows;
};

struct scales {
    float a[50];
};

struct net {
    struct scales *scales;
};

struct holder {
    struct net *net;
};

struct shifts {
    int kind;
    float of[50];
    int times;
};

struct layers {
    int n;
    struct shifts *shifts;
};

/* Which weights there are is said by data: where there are none, the pointer is NULL. */
void weighted(int n, const float *x, const int *has, const float *w, float *y)
{
    for (int i = 0; i < n; i++)
        y[i] = has[i] ? w[i] * x[i] : x[i];
}

void activated(struct layer *l, const int *has, float *y)
{
    for (int i = 0; i < l->n; i++)
        if (has[i] > 0)
            y[i] += l->bias[i];
}

void together(struct layer *l, int m, const int *has, float (*y)[m])
{
    for (int i = 0; i < l->n; i++)
        for (int j = 0; j < m; j++)
            y[i][j] += has[i] ? l->rows[i][j] : 1.0f;
}

/* Where there is nothing to scale there is no net. */
void scaled(const struct holder *h, int n, float *y)
{
    for (int i = 0; i < n; i++)
        y[i] *= h->net->scales->a[i];
}

/* Arrays and scalars of structures, which have addresses other than NULL where the structure has none. */
void shifted(const struct shifts *s, int n, float *y)
{
    for (int i = 0; i < n; i++)
        y[i] += s->of[i];
}

void counted(struct layers *l, float *y)
{
    for (int i = 0; i < l->n; i++) {
        y[i] += l->shifts->of[i];
        l->shifts->of[i] = 0;
        l->shifts->times++;
    }
}

int main(void)
{
    enum { N = 50, M = 20 };
    static float x[N], y[N], w[N], table[N][M], sums[N][M];
    static int all[N], none[N];
    float *rows[N];
    for (int i = 0; i < N; i++) {
        x[i] = 0.5f * i;
        w[i] = 2.0f + i;
        all[i] = 1;
        rows[i] = table[(7 * i) % N];
        for (int j = 0; j < M; j++)
            table[i][j] = i + 0.25f * j;
    }
    struct layer with = { N, w, rows }, without = { N, NULL, NULL };
    struct scales scales = { { 1, 2, 4 } };
    struct net net = { &scales };
    struct holder holder = { &net }, nothing = { NULL };
    struct shifts shifts = { 1, { 3, 5, 7, 11 }, 0 };
    struct layers some = { 4, &shifts }, empty = { 0, NULL };
    for (int k = 0; k < 2; k++) {
        weighted(N, x, k ? all : none, k ? w : NULL, y);
        activated(k ? &with : &without, k ? all : none, y);
        together(k ? &with : &without, M, k ? all : none, sums);
        scaled(k ? &holder : &nothing, k ? 3 : 0, y);
        shifted(k ? &shifts : NULL, k ? 4 : 0, y);
        counted(k ? &some : &empty, y);
        printf("%g %g %g %d\n", y[1], y[N - 1], sums[N - 1][M - 1], shifts.times);
    }
    return 0;
}
