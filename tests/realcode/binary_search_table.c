// device: interpolate
#include <stdio.h>
void interpolate(int n, const double *x, int m, const double knots[m], const double values[m], double *y)
{
    for (int i = 0; i < n; i++) {
        int lo = 0, hi = m - 1;
        while (hi - lo > 1) {
            int mid = (lo + hi) / 2;
            if (knots[mid] <= x[i]) lo = mid;
            else hi = mid;
        }
        double t = (x[i] - knots[lo]) / (knots[hi] - knots[lo]);
        y[i] = values[lo] + t * (values[hi] - values[lo]);
    }
}
int main(void)
{
    double k[20], v[20], x[50], y[50];
    for (int i = 0; i < 20; i++) { k[i] = i * i; v[i] = i; }
    for (int i = 0; i < 50; i++) x[i] = i * 7.1;
    interpolate(50, x, 20, k, v, y);
    for (int i = 0; i < 50; i += 7) printf("%.12g\n", y[i]);
    return 0;
}
