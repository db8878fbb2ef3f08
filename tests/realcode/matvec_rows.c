// device: matvec
#include <stdio.h>
void matvec(int rows, int cols, double (*a)[cols], const double *x, double *y)
{
    for (int r = 0; r < rows; ++r) {
        y[r] = 0;
        for (int c = 0; c < cols; ++c)
            y[r] = y[r] + a[r][c] * x[c];
    }
}
int main(void)
{
    double a[30][40], x[40], y[30];
    for (int i = 0; i < 30; i++) for (int j = 0; j < 40; j++) a[i][j] = (i * j) % 11;
    for (int j = 0; j < 40; j++) x[j] = 1.0 / (j + 1);
    matvec(30, 40, a, x, y);
    for (int i = 0; i < 30; i++) printf("%.12g\n", y[i]);
    return 0;
}
