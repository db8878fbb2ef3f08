// device: quantise matmul_int8
#include <stdio.h>
#include <stdint.h>
#include <math.h>
#define R 10
#define C 48
void quantise(int8_t *q, float *s, const float *x, int rows, int n)
{
    for (int r = 0; r < rows; r++) {
        float wmax = 0.0f;
        for (int i = 0; i < n; i++) {
            float v = fabsf(x[r * n + i]);
            if (v > wmax)
                wmax = v;
        }
        float scale = wmax / 127.0f;
        s[r] = scale;
        for (int i = 0; i < n; i++)
            q[r * n + i] = (int8_t)roundf(x[r * n + i] / scale);
    }
}
void matmul_int8(float *out, const int8_t *xq, float xs, const int8_t *wq, const float *ws, int n, int d)
{
    for (int i = 0; i < d; i++) {
        int32_t v = 0;
        int in = i * n;
        for (int j = 0; j < n; j++)
            v += (int32_t)xq[j] * (int32_t)wq[in + j];
        out[i] = (float)v * ws[i] * xs;
    }
}
int main(void)
{
    static float w[R * C], x[C], ws[R], xs[1], out[R];
    static int8_t wq[R * C], xq[C];
    for (int i = 0; i < R * C; i++) w[i] = ((i * 29) % 61 - 30) * 0.03f;
    for (int i = 0; i < C; i++) x[i] = ((i * 7) % 19 - 9) * 0.1f;
    quantise(wq, ws, w, R, C);
    quantise(xq, xs, x, 1, C);
    matmul_int8(out, xq, xs[0], wq, ws, C, R);
    for (int i = 0; i < R; i += 3) printf("%.6f\n", out[i]);
    return 0;
}
