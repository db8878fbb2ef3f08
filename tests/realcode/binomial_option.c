// device: options
#include <stdio.h>
#include <math.h>
#define STEPS 20
void options(int n, const float *s, const float *k, float *out)
{
    for (int o = 0; o < n; o++) {
        float v[STEPS + 1];
        float u = 1.05f, p = 0.52f;
        for (int i = 0; i <= STEPS; i++) {
            float price = s[o] * powf(u, 2 * i - STEPS);
            v[i] = price > k[o] ? price - k[o] : 0;
        }
        for (int t = STEPS; t > 0; t--)
            for (int i = 0; i < t; i++)
                v[i] = 0.999f * (p * v[i + 1] + (1 - p) * v[i]);
        out[o] = v[0];
    }
}
int main(void)
{
    float s[40], k[40], o[40];
    for (int i = 0; i < 40; i++) { s[i] = 80 + i; k[i] = 100; }
    options(40, s, k, o);
    for (int i = 0; i < 40; i += 5) printf("%.3f\n", o[i]);
    return 0;
}
