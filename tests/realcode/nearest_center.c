// device: label
#include <float.h>
#include <stdio.h>
#define N 90
#define K 7
static double point[N][3], center[K][3], far_off[N];
static int nearest[N];
static void label(void)
{
    for (int i = 0; i < N; i++) {
        double best = DBL_MAX;
        int at = 0;
        for (int k = 0; k < K; k++) {
            double s = 0;
            for (int d = 0; d < 3; d++)
                s += (point[i][d] - center[k][d]) * (point[i][d] - center[k][d]);
            if (s < best) {
                best = s;
                at = k;
            }
        }
        nearest[i] = at;
        far_off[i] = best > 20 ? -DBL_MAX : best;
    }
}
int main(void)
{
    for (int i = 0; i < 3 * N; i++) point[i / 3][i % 3] = (i * 37 + 5) % 23 * 0.5;
    for (int i = 0; i < 3 * K; i++) center[i / 3][i % 3] = (i * 29 + 11) % 23 * 0.5;
    label();
    for (int i = 0; i < N; i++) printf("%d %g\n", nearest[i], far_off[i]);
    return 0;
}
