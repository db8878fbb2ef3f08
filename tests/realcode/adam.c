// device: update
#include <stdio.h>
#include <math.h>
struct state { double *m, *v; int t; };
void update(double *w, const double *g, struct state *s, int n, double lr)
{
    double c1, c2;
    int i;
    c1 = 1 - pow(0.9, s->t);
    c2 = 1 - pow(0.999, s->t);
    for (i = 0; i < n; i++) {
        s->m[i] = 0.9 * s->m[i] + 0.1 * g[i];
        s->v[i] = 0.999 * s->v[i] + 0.001 * g[i] * g[i];
        w[i] -= lr * (s->m[i] / c1) / (sqrt(s->v[i] / c2) + 1e-8);
    }
}
int main(void)
{
    double w[128], g[128], m[128] = {0}, v[128] = {0};
    struct state s = {m, v, 3};
    for (int i = 0; i < 128; i++) { w[i] = i; g[i] = 1.0 / (i + 1); }
    update(w, g, &s, 128, 0.01);
    for (int i = 0; i < 128; i += 13) printf("%.12g\n", w[i]);
    return 0;
}
