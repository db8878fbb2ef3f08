// device: median
#include <stdio.h>
static inline float mid(float a, float b, float c)
{
    if (a > b) { float t = a; a = b; b = t; }
    if (b > c) { b = c; }
    if (a > b) { b = a; }
    return b;
}
void median(int n, const float *x, float *y)
{
    y[0] = x[0];
    for (int i = 1; i < n - 1; i++) y[i] = mid(x[i - 1], x[i], x[i + 1]);
    y[n - 1] = x[n - 1];
}
int main(void)
{
    float x[150], y[150], s = 0;
    for (int i = 0; i < 150; i++) x[i] = (i * 31) % 17;
    median(150, x, y);
    for (int i = 0; i < 150; i++) s += y[i] * (i % 5);
    printf("%g\n", s);
    return 0;
}
