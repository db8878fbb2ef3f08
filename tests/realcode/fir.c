// device: fir
#include <stdio.h>
#include <stddef.h>
void fir(const float *x, size_t nx, const float *h, size_t nh, float *y)
{
    for (size_t i = 0; i + nh <= nx; i++) {
        float acc = 0.f;
        for (size_t k = 0; k < nh; k++)
            acc += h[k] * x[i + nh - 1 - k];
        y[i] = acc;
    }
}
int main(void)
{
    float x[300], h[9], y[300] = {0};
    for (int i = 0; i < 300; i++) x[i] = i % 19;
    for (int i = 0; i < 9; i++) h[i] = 1.0f / (1 + i);
    fir(x, 300, h, 9, y);
    for (int i = 0; i < 300; i += 31) printf("%g\n", y[i]);
    return 0;
}
