// device: rmsnorm
#include <stdio.h>
#include <math.h>
void rmsnorm(float *o, float *x, float *weight, int size)
{
    float ss = 0.0f;
    for (int j = 0; j < size; j++) ss += x[j] * x[j];
    ss /= size;
    ss += 1e-5f;
    ss = 1.0f / sqrtf(ss);
    for (int j = 0; j < size; j++) o[j] = weight[j] * (ss * x[j]);
}
int main(void)
{
    static float o[288], x[288], w[288];
    for (int i = 0; i < 288; i++) { x[i] = i % 4; w[i] = 1; }
    rmsnorm(o, x, w, 288);
    for (int i = 0; i < 288; i += 31) printf("%g\n", o[i]);
    return 0;
}
