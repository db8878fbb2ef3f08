// device: price
#include <stdio.h>
#include <math.h>
static float cnd(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float w = 1.0f - 0.39894228f * expf(-0.5f * d * d) * (k * (0.31938153f + k * (-0.356563782f + k * 1.781477937f)));
    if (d < 0) return 1.0f - w;
    return w;
}
void price(int n, const float *s, const float *x, const float *t, float *call, float r, float v)
{
    for (int i = 0; i < n; i++) {
        float root = sqrtf(t[i]);
        float d1 = (logf(s[i] / x[i]) + (r + 0.5f * v * v) * t[i]) / (v * root);
        float d2 = d1 - v * root;
        call[i] = s[i] * cnd(d1) - x[i] * expf(-r * t[i]) * cnd(d2);
    }
}
int main(void)
{
    static float s[200], x[200], t[200], c[200];
    for (int i = 0; i < 200; i++) { s[i] = 20 + i * 0.1f; x[i] = 25; t[i] = 0.25f + i * 0.01f; }
    price(200, s, x, t, c, 0.02f, 0.3f);
    for (int i = 0; i < 200; i += 20) printf("%.4f\n", c[i]);
    return 0;
}
