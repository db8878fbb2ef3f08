// device: quantize
#include <stdio.h>
#include <math.h>
#include <stdint.h>
void quantize(int8_t *q, float *s, const float *x, int n, int group)
{
    int groups = n / group;
    for (int g = 0; g < groups; g++) {
        float wmax = 0.0f;
        for (int i = 0; i < group; i++) {
            float val = fabsf(x[g * group + i]);
            if (val > wmax) wmax = val;
        }
        float scale = wmax / 127.0f;
        s[g] = scale;
        for (int i = 0; i < group; i++)
            q[g * group + i] = (int8_t)roundf(x[g * group + i] / scale);
    }
}
int main(void)
{
    static float x[640], s[40];
    static int8_t q[640];
    int sum = 0;
    for (int i = 0; i < 640; i++) x[i] = (i * 37) % 101 - 50.5f;
    quantize(q, s, x, 640, 16);
    for (int i = 0; i < 640; i++) sum += q[i] * (i % 3);
    printf("%d %g\n", sum, s[7]);
    return 0;
}
