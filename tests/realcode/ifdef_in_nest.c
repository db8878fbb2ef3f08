// device: mix
#include <stdio.h>
#define USE_WEIGHT
void mix(int n, const float *a, const float *w, float *o)
{
    for (int i = 0; i < n; i++) {
#ifdef USE_WEIGHT
        float v = a[i] * w[i];
#else
        float v = a[i];
#endif
        o[i] = v + 1.0f;
    }
}
int main(void)
{
    float a[50], w[50], o[50];
    for (int i = 0; i < 50; i++) { a[i] = i; w[i] = 0.5f; }
    mix(50, a, w, o);
    printf("%g\n", o[49]);
    return 0;
}
