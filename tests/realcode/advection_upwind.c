// device: advect
#include <stdio.h>
void advect(int n, double c, const double *q, double *qn)
{
    int i, im1;
    for (i = 0; i < n; i++) {
        im1 = i == 0 ? n - 1 : i - 1;
        qn[i] = q[i] - c * (q[i] - q[im1]);
    }
}
int main(void)
{
    double a[200], b[200];
    for (int i = 0; i < 200; i++) a[i] = i > 50 && i < 90;
    for (int s = 0; s < 4; s++) { advect(200, 0.5, a, b); advect(200, 0.5, b, a); }
    for (int i = 0; i < 200; i += 11) printf("%g\n", a[i]);
    return 0;
}
