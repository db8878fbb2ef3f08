// device: layernorm
#include <stdio.h>
#include <math.h>
void layernorm(float *out, const float *in, const float *gain, const float *bias, int rows, int c)
{
    for (int r = 0; r < rows; r++) {
        const float *x = in + r * c;
        float *o = out + r * c;
        float mean = 0.0f, var = 0.0f;
        for (int i = 0; i < c; i++) mean += x[i];
        mean = mean / c;
        for (int i = 0; i < c; i++) { float d = x[i] - mean; var += d * d; }
        var = var / c;
        float s = 1.0f / sqrtf(var + 1e-5f);
        for (int i = 0; i < c; i++) o[i] = s * (x[i] - mean) * gain[i] + bias[i];
    }
}
int main(void)
{
    static float in[48 * 16], out[48 * 16], g[16], b[16];
    for (int i = 0; i < 48 * 16; i++) in[i] = (i * 11) % 23;
    for (int i = 0; i < 16; i++) { g[i] = 1 + 0.1f * i; b[i] = i; }
    layernorm(out, in, g, b, 48, 16);
    for (int i = 0; i < 48 * 16; i += 67) printf("%.5f\n", out[i]);
    return 0;
}
