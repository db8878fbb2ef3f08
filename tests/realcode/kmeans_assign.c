// device: nearest
#include <stdio.h>
#include <float.h>
static void nearest(int n, int k, int d, const float *points, const float *centres, int *member)
{
    for (int i = 0; i < n; i++) {
        float best = FLT_MAX;
        int which = 0;
        for (int c = 0; c < k; c++) {
            float dist = 0;
            for (int j = 0; j < d; j++)
                dist += (points[i * d + j] - centres[c * d + j]) * (points[i * d + j] - centres[c * d + j]);
            if (dist < best) {
                best = dist;
                which = c;
            }
        }
        member[i] = which;
    }
}
int main(void)
{
    static float p[100 * 3], c[5 * 3];
    int m[100];
    for (int i = 0; i < 300; i++) p[i] = (i * 7) % 23;
    for (int i = 0; i < 15; i++) c[i] = i;
    nearest(100, 5, 3, p, c, m);
    for (int i = 0; i < 100; i += 3) printf("%d", m[i]);
    printf("\n");
    return 0;
}
