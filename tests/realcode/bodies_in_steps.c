// device: steps
#include <stdio.h>
#define N 40
struct body { double x[3], v[3], m; };
static struct body all[N];
static void move(struct body *b, int n, double dt)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            b[i].x[k] += dt * b[i].v[k];
}
static void pull(struct body *b, int n, double dt)
{
    for (int i = 0; i < n; i++) {
        double f[3];
        for (int k = 0; k < 3; k++) f[k] = -b[i].x[k] * b[i].m;
        for (int k = 0; k < 3; k++) b[i].v[k] += f[k] * dt;
    }
}
void steps(int n, int last)
{
    for (int t = 0; t < last; t++) {
        pull(all, n, .01);
        move(all, n, .01);
    }
}
int main(void)
{
    double sum = 0;
    for (int i = 0; i < N; i++) {
        all[i].m = 1 + i % 4;
        for (int k = 0; k < 3; k++) { all[i].x[k] = (i * (k + 3)) % 17; all[i].v[k] = 0; }
    }
    steps(N, 4);
    for (int i = 0; i < N; i++) sum += all[i].x[0] + 2 * all[i].v[2];
    printf("%.12g %.12g\n", sum, all[7].x[1]);
    return 0;
}
