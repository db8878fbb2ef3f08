// device: scores
#include <stdio.h>
#include <math.h>
void scores(int t, int heads, int size, const float *q, const float *k, float *att)
{
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < t; i++)
            for (int j = 0; j <= i; j++) {
                float s = 0;
                for (int d = 0; d < size; d++)
                    s += q[(i * heads + h) * size + d] * k[(j * heads + h) * size + d];
                att[(h * t + i) * t + j] = s / sqrtf(size);
            }
}
int main(void)
{
    enum { T = 20, H = 3, D = 8 };
    static float q[T * H * D], k[T * H * D], a[H * T * T];
    for (int i = 0; i < T * H * D; i++) { q[i] = i % 5 - 2; k[i] = i % 7 - 3; }
    scores(T, H, D, q, k, a);
    for (int i = 0; i < H * T * T; i += 101) printf("%g\n", a[i]);
    return 0;
}
