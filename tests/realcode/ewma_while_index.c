// device: smooth
#include <stdio.h>
void smooth(int n, const float *x, float *y, int half)
{
    int i = half;
    while (i + half < n) {
        float s = 0.f;
        int j = -half;
        while (j <= half) {
            s += x[i + j];
            j += 1;
        }
        y[i] = s / (2 * half + 1);
        i += 1;
    }
}
int main(void)
{
    float x[64], y[64] = {0};
    for (int i = 0; i < 64; i++) x[i] = (i * i) % 37;
    smooth(64, x, y, 3);
    printf("%.4f %.4f %.4f\n", y[3], y[31], y[60]);
    return 0;
}
