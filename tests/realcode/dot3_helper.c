// device: lengths
#include <stdio.h>
static float dot3(const float *x, const float *y) { return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]; }
void lengths(int n, const float (*a)[3], float *o) { for (int i = 0; i < n; i++) o[i] = dot3(a[i], a[i]); }
int main(void)
{
    float a[30][3], o[30];
    for (int i = 0; i < 90; i++) a[i / 3][i % 3] = i;
    lengths(30, (const float (*)[3])a, o);
    printf("%g %g\n", o[1], o[29]);
    return 0;
}
