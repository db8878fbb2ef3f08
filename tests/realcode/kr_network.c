// device: zero randomize forward adjust
// flags: -std=gnu89
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define HIDDEN 30

float scaled(x, by)
float x;
{
    return x / by;
}

float **rows(m, n)
int m, n;
{
    float **w = (float **)malloc((unsigned)(m * sizeof(float *)));
    int i;
    for (i = 0; i < m; i++)
        w[i] = (float *)malloc((unsigned)(n * sizeof(float)));
    return w;
}

zero(w, m, n)
float **w;
int m, n;
{
    int i, j;

    for (i = 0; i <= m; i++) {
        for (j = 0; j <= n; j++) {
            w[i][j] = 0.0;
        }
    }
}

randomize(w, m)
float *w;
int m;
{
    int i;
    for (i = 0; i <= m; i++) {
        w[i] = 0.1 * (i % 9);
    }
}

void forward(in, out, w, n, m)
float *in, *out, **w;
int n, m;
{
    float sum;
    int j, k;

    for (j = 1; j <= m; j++) {
        sum = 0.0;
        for (k = 0; k <= n; k++)
            sum += w[k][j] * in[k];
        out[j] = scaled(sum, 4);
    }
}

void adjust(delta, m, in, n, w)
float *delta, *in, **w;
{
    int k, j;

    for (j = 1; j <= m; j++) {
        for (k = 0; k <= n; k++)
            w[k][j] += 0.3 * delta[j] * in[k];
    }
}

int main(argc, argv)
char **argv;
{
    float **w = rows(HIDDEN + 1, HIDDEN + 1), in[HIDDEN + 1], out[HIDDEN + 1];
    int t, i;

    zero(w, HIDDEN, HIDDEN);
    randomize(in, HIDDEN);
    randomize(out, HIDDEN);
    for (t = 0; t < 3; t++) {
        adjust(out, HIDDEN, in, HIDDEN, w);
        forward(in, out, w, HIDDEN, HIDDEN);
    }
    for (i = 1; i <= HIDDEN; i++)
        printf("%.9g %.9g\n", out[i], w[i][i]);
    return 0;
}
