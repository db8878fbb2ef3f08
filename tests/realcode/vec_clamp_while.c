// device: clamp
#include <stdio.h>
static void clamp(float *v, int count, float lo, float hi)
{
    int i = 0;
    do {
        float x = v[i];
        if (x < lo) x = lo;
        else if (x > hi) x = hi;
        v[i] = x;
    } while (++i < count);
}
int main(void)
{
    float v[45];
    for (int k = 0; k < 45; k++) v[k] = (k * 17 % 29) - 14.5f;
    clamp(v, 45, -5.0f, 6.25f);
    double s = 0;
    for (int k = 0; k < 45; k++) s += v[k] * k;
    printf("%.3f\n", s);
    return 0;
}
