// device: activate
#include <stdio.h>
#include <math.h>
typedef enum { RELU, LEAKY, TANH, LINEAR } Kind;
static float act(float x, Kind k)
{
    switch (k) {
    case RELU: return x > 0 ? x : 0;
    case LEAKY: return x > 0 ? x : 0.1f * x;
    case TANH: return tanhf(x);
    case LINEAR: return x;
    }
    return 0;
}
void activate(float *x, int n, Kind k)
{
    for (int i = 0; i < n; ++i) x[i] = act(x[i], k);
}
int main(void)
{
    float x[60];
    for (int i = 0; i < 60; i++) x[i] = i - 30;
    activate(x, 60, LEAKY);
    activate(x, 60, RELU);
    for (int i = 0; i < 60; i += 7) printf("%g\n", x[i]);
    return 0;
}
