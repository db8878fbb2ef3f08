// device: saxpy
#include <stdio.h>
void saxpy(int n, float a, float *x, float *y)
{
#pragma omp target teams distribute parallel for map(to : x[0:n]) map(tofrom : y[0:n])
    for (int i = 0; i < n; ++i)
        y[i] = a * x[i] + y[i];
}
int main(void)
{
    float x[64], y[64];
    for (int i = 0; i < 64; i++) { x[i] = i; y[i] = 1; }
    saxpy(64, 2, x, y);
    printf("%g\n", y[63]);
    return 0;
}
