// device: blur1d
#include <stdio.h>
static int clamp(int v, int lo, int hi) { return v < lo ? lo : v > hi ? hi : v; }
void blur1d(const float *in, float *out, int n)
{
    for (int i = 0; i < n; i++) {
        float s = 0;
        for (int k = -2; k <= 2; k++)
            s += in[clamp(i + k, 0, n - 1)];
        out[i] = s * 0.2f;
    }
}
int main(void)
{
    static float in[500], out[500];
    for (int i = 0; i < 500; i++) in[i] = i % 17;
    blur1d(in, out, 500);
    printf("%g %g %g %g\n", out[0], out[1], out[250], out[499]);
    return 0;
}
