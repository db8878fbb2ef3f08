// device: convert squares
#include <stdio.h>
enum { W = 40, H = 9 };
void convert(unsigned char out[H][3 * W], const unsigned char in[H][W], const int *red, const int *blue)
{
    register int y, cb;
    register int row, col;
    for (row = 0; row < H; row++) {
        for (col = 0; col < W; col++) {
            y = in[row][col];
            cb = y ^ 85;
            out[row][3 * col] = y + red[cb & 15] > 255 ? 255 : y + red[cb & 15];
            out[row][3 * col + 1] = cb;
            cb += y;
            out[row][3 * col + 2] = y - blue[cb & 15] < 0 ? 0 : y - blue[cb & 15];
        }
    }
}
int squares(register int n, register float *a)
{
    register float t = 3;
    register int i;
    for (i = 0; i < n; i++) {
        t = a[i] * a[i];
        if (t > 50)
            t = 50;
        a[i] = t + 1;
    }
    t = n;
    return t;
}
int main(void)
{
    static unsigned char in[H][W], out[H][3 * W];
    int red[16], blue[16], sum = 0;
    float a[100];
    for (int k = 0; k < 16; k++)
        red[k] = k * 5, blue[k] = 60 - k;
    for (int r = 0; r < H; r++)
        for (int c = 0; c < W; c++)
            in[r][c] = (r * 31 + c * 7) % 256;
    convert(out, in, red, blue);
    for (int r = 0; r < H; r++)
        for (int c = 0; c < 3 * W; c++)
            sum = (sum * 7 + out[r][c]) % 99991;
    for (int i = 0; i < 100; i++)
        a[i] = (i - 50) / 5.0f;
    printf("%d %d %g %g\n", sum, squares(100, a), a[3], a[60]);
    return 0;
}
