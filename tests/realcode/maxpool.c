// device: pool
#include <stdio.h>
#define MAX(a, b) ((a) > (b) ? (a) : (b))
void pool(int c, int h, int w, const float in[c][h][w], float out[c][h / 2][w / 2])
{
    for (int k = 0; k < c; k++)
        for (int i = 0; i < h / 2; i++)
            for (int j = 0; j < w / 2; j++)
                out[k][i][j] = MAX(MAX(in[k][2 * i][2 * j], in[k][2 * i][2 * j + 1]), MAX(in[k][2 * i + 1][2 * j], in[k][2 * i + 1][2 * j + 1]));
}
int main(void)
{
    static float in[3][16][20], out[3][8][10];
    for (int k = 0; k < 3; k++) for (int i = 0; i < 16; i++) for (int j = 0; j < 20; j++) in[k][i][j] = (k * 31 + i * 17 + j * 5) % 41;
    pool(3, 16, 20, in, out);
    for (int i = 0; i < 8; i++) printf("%g %g\n", out[0][i][i], out[2][i][9 - i]);
    return 0;
}
