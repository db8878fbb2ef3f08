// device: framed padded blended
#include <stdio.h>

/* What is beyond an image is 0, or 1, or has a value of its own. */
void framed(int w, int h, const float a[restrict h][w], int W, int H, float b[restrict H][W], int border)
{
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x) {
            float val = 0;
            if (x - border < 0 || x - border >= w || y - border < 0 || y - border >= h)
                val = 0;
            else
                val = a[y - border][x - border];
            b[y][x] = val;
        }
}

void padded(int w, int h, int d, const float a[restrict d][h][w], int W, int H, int D, float b[restrict D][H][W],
            int border)
{
    for (int k = 0; k < D; ++k)
        for (int y = 0; y < H; ++y)
            for (int x = 0; x < W; ++x) {
                float val = 0;
                if (x - border < 0 || x - border >= w || y - border < 0 || y - border >= h)
                    val = 0;
                else if (k < d)
                    val = a[k][y - border][x - border];
                if (x - border < 0 || x - border >= w || y - border < 0 || y - border >= h)
                    val = 1;
                b[k][y][x] = val;
            }
}

void blended(int n, const double *restrict a, double *restrict b)
{
    for (int i = 0; i < n; i++) {
        double left, right[2];
        if (i == 0)
            left = a[n - 1];
        else
            left = a[i - 1];
        for (int k = 0; k < 2; k++) {
            if (i + k + 1 < n)
                right[k] = a[i + k + 1];
            else
                right[k] = a[i + k + 1 - n];
        }
        b[i] = 0.5 * left + 0.25 * right[0] + 0.125 * right[1];
    }
}

int main(void)
{
    static float a[2][5][7], b[3][9][11], c[9][11];
    double p[40], q[40];
    for (int i = 0; i < 70; i++)
        (&a[0][0][0])[i] = 0.5f * i + 2;
    for (int i = 0; i < 40; i++)
        p[i] = i * i % 17;
    padded(7, 5, 2, a, 11, 9, 3, b, 2);
    framed(7, 5, a[1], 11, 9, c, 1);
    blended(40, p, q);
    for (int y = 0; y < 9; y++)
        for (int x = 0; x < 11; x++)
            printf("%g %g %g %g\n", b[0][y][x], b[1][y][x], b[2][y][x], c[y][x]);
    for (int i = 0; i < 40; i++)
        printf("%g\n", q[i]);
    return 0;
}
