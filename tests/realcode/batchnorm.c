// device: normalise
#include <stdio.h>
#include <math.h>
void normalise(float *x, const float *mean, const float *var, int batch, int channels, int spatial)
{
    int b, f, i;
    for (b = 0; b < batch; ++b) {
        for (f = 0; f < channels; ++f) {
            for (i = 0; i < spatial; ++i) {
                int index = b * channels * spatial + f * spatial + i;
                x[index] = (x[index] - mean[f]) / (sqrt(var[f]) + .000001f);
            }
        }
    }
}
int main(void)
{
    static float x[4 * 6 * 30], m[6], v[6];
    for (int i = 0; i < 720; i++) x[i] = i % 31;
    for (int i = 0; i < 6; i++) { m[i] = 10 + i; v[i] = 4 + i; }
    normalise(x, m, v, 4, 6, 30);
    for (int i = 0; i < 720; i += 71) printf("%.5f\n", x[i]);
    return 0;
}
