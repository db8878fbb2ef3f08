// device: scatter
#include <stdio.h>
void scatter(int n, const int *where, const float *v, float *out)
{
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        out[where[i]] = v[i];
}
int main(void)
{
    int p[64];
    float v[64], o[64];
    for (int i = 0; i < 64; i++) { p[i] = (i * 5) % 64; v[i] = i; }
    scatter(64, p, v, o);
    printf("%g %g %g\n", o[0], o[5], o[63]);
    return 0;
}
