// device: one two four
#include <stdio.h>
#include <stdlib.h>
#define N 40
static int idx[N], cond[N]; static float a[N], b[N][N], c[N][N], e[N][N];
void one(void) { for (int t = 0; t < N; t++) { float v[5]; for (int k = 0; k < 5; k++) v[k] = a[t] + k; for (int x = 0; x < N; x++) { v[idx[x]] = a[x] + t; b[t][x] = v[2]; } } }
void two(void)
{
    for (int t = 0; t < N; t++) {
        float v[5];
        for (int k = 0; k < 5; k++) v[k] = k;
        for (int x = 0; x < N; x++) {
            if (cond[x]) for (int k = 0; k < 5; k++) v[k] = a[x];
            int m = idx[x];
            v[m] += 1;
            v[(m + 1) % 5] *= 0.5f;
            c[t][x] = v[0] + v[m];
        }
    }
}
void four(void)
{
    for (int t = 0; t < N; t++)
        for (int x = 0; x < N; x++) {
            int w[4] = {0};
            for (int k = 0; k < N; k++) { w[(idx[k] + t) & 3] = k; if (w[1] > x) w[idx[x] & 3]--; }
            e[t][x] = w[0] + 2 * w[1] + 3 * w[2] + 5 * w[3];
        }
}
int main(void)
{
    for (int i = 0; i < N; i++) { idx[i] = (i * 7) % 5; cond[i] = i % 9 == 4; a[i] = (i * 13) % 17; }
    one(); two(); four();
    for (int i = 0; i < N; i += 3) printf("%g %g %g %g\n", b[i][i], c[i][N - 1 - i], e[i][7], e[3][i]);
    return 0;
}
