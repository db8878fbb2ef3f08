// device: compute
#include <stdio.h>
#include <stdlib.h>
void compute(float *result, float *temp, float *power, int row, int col, float cap, float rx, float ry, float rz)
{
    int r, c;
    float delta;
    for (r = 0; r < row; r++) {
        for (c = 0; c < col; c++) {
            if (r == 0 || c == 0 || r == row - 1 || c == col - 1) {
                delta = cap * (power[r * col + c] + (80.0f - temp[r * col + c]) / rz);
            } else {
                delta = cap * (power[r * col + c] + (temp[(r + 1) * col + c] + temp[(r - 1) * col + c] - 2.0f * temp[r * col + c]) / ry
                               + (temp[r * col + c + 1] + temp[r * col + c - 1] - 2.0f * temp[r * col + c]) / rx + (80.0f - temp[r * col + c]) / rz);
            }
            result[r * col + c] = temp[r * col + c] + delta;
        }
    }
}
int main(void)
{
    float *t = malloc(20 * 28 * 4), *p = malloc(20 * 28 * 4), *o = malloc(20 * 28 * 4);
    for (int i = 0; i < 560; i++) { t[i] = 320 + i % 9; p[i] = 0.01f * (i % 5); }
    compute(o, t, p, 20, 28, 0.5f, 2.0f, 3.0f, 40.0f);
    for (int i = 0; i < 560; i += 53) printf("%g\n", o[i]);
    return 0;
}
