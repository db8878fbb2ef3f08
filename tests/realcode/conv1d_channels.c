// device: conv1d relu
#include <stdio.h>
typedef struct {
    int in_ch, out_ch, k;
    const float *w, *b;
} conv;
void conv1d(const conv *c, const float *x, int len, float *y)
{
    const int olen = len - c->k + 1;
    for (int o = 0; o < c->out_ch; o++)
        for (int t = 0; t < olen; t++) {
            float acc = c->b ? c->b[o] : 0.f;
            for (int i = 0; i < c->in_ch; i++)
                for (int j = 0; j < c->k; j++)
                    acc += c->w[(o * c->in_ch + i) * c->k + j] * x[i * len + t + j];
            y[o * olen + t] = acc;
        }
}
void relu(float *y, int n)
{
    while (n-- > 0) {
        if (*y < 0) *y = 0;
        y++;
    }
}
int main(void)
{
    float w[4 * 3 * 5], b[4] = {0.1f, -0.2f, 0.3f, 0}, x[3 * 30], y[4 * 26];
    for (int i = 0; i < 60; i++) w[i] = (i % 9 - 4) * 0.1f;
    for (int i = 0; i < 90; i++) x[i] = (i * 5 % 13 - 6) * 0.5f;
    conv c = {3, 4, 5, w, b};
    conv1d(&c, x, 30, y);
    relu(y, 4 * 26);
    float s = 0;
    for (int i = 0; i < 104; i++) s += y[i] * (i % 10);
    printf("%.4f %.4f\n", s, y[103]);
    return 0;
}
