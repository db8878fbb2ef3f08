// device: cube_roots
#include <stdio.h>
#include <math.h>
void cube_roots(const double *x, double *y, int n)
{
    for (int i = 0; i < n; ++i) {
        double r = x[i] > 1 ? x[i] : 1;
        int it = 0;
        do {
            double next = (2 * r + x[i] / (r * r)) / 3;
            if (fabs(next - r) < 1e-12)
                break;
            r = next;
        } while (++it < 60);
        y[i] = r;
    }
}
int main(void)
{
    double x[20], y[20];
    for (int i = 0; i < 20; i++) x[i] = 0.5 * i * i + 0.25;
    cube_roots(x, y, 20);
    for (int i = 0; i < 20; i += 5) printf("%.9f\n", y[i]);
    return 0;
}
