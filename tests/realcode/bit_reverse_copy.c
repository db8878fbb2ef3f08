// device: permute
#include <stdio.h>
void permute(const double *in, double *out, int bits)
{
    int n = 1 << bits;
    for (int i = 0; i < n; i++) {
        int r = 0;
        for (int b = 0; b < bits; b++)
            r |= (i >> b & 1) << (bits - 1 - b);
        out[i] = in[r];
    }
}
int main(void)
{
    double a[128], b[128];
    for (int i = 0; i < 128; i++) a[i] = i;
    permute(a, b, 7);
    for (int i = 0; i < 128; i += 15) printf("%g\n", b[i]);
    return 0;
}
