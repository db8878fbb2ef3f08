// device: center scale_planes squares
#include <stdio.h>

void center(float *d, const float *mean, int w, int h, int c)
{
    for (int j = 0; j < c; ++j)
        for (int i = 0; i < h * w; ++i)
            d[i + j * h * w] = d[i + j * h * w] - mean[j];
}

void scale_planes(float *restrict out, const float *restrict in, int w, int h, int c)
{
    for (int j = 0; j < c; ++j)
        for (int i = 0; i < w * h; ++i)
            out[j * (h * w) + i] = in[j * w * h + i] * (1.0f + j);
}

void squares(double *restrict a, int n, int count)
{
    for (int k = 0; k < count; k++)
        for (int i = 0; i < n * n; i++)
            a[k * n * n + i] = k + 0.5 * i;
}

int main(void)
{
    static float d[3 * 7 * 5], e[3 * 7 * 5], mean[3] = {0.5f, 1.5f, 2.5f};
    static double a[4 * 36];
    for (int i = 0; i < 3 * 7 * 5; i++)
        d[i] = i * 0.25f;
    center(d, mean, 7, 5, 3);
    scale_planes(e, d, 7, 5, 3);
    squares(a, 6, 4);
    for (int i = 0; i < 3 * 7 * 5; i += 13)
        printf("%g %g %g\n", d[i], e[i], a[i]);
    return 0;
}
