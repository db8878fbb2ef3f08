// device: distances
#include <stdio.h>
#include <math.h>
void distances(int n, int d, const float x[n][d], float out[n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float s = 0;
            for (int k = 0; k < d; k++) {
                float t = x[i][k] - x[j][k];
                s += t * t;
            }
            out[i][j] = sqrtf(s);
        }
}
int main(void)
{
    static float x[40][6], out[40][40];
    for (int i = 0; i < 40; i++) for (int k = 0; k < 6; k++) x[i][k] = (i * k) % 7;
    distances(40, 6, x, out);
    for (int i = 0; i < 40; i += 6) printf("%g\n", out[i][39 - i]);
    return 0;
}
