// device: smooth
#include <stdio.h>
void smooth(const double *in, double *out, int n, int half)
{
    int i, j;
    for (i = half; i < n - half; i++) {
        double s = 0;
        for (j = i - half; j <= i + half; j++) s += in[j];
        out[i] = s / (2 * half + 1);
    }
}
int main(void)
{
    double a[250], b[250] = {0};
    for (int i = 0; i < 250; i++) a[i] = (i * 17) % 29;
    smooth(a, b, 250, 4);
    for (int i = 0; i < 250; i += 27) printf("%g\n", b[i]);
    return 0;
}
