// device: correlate
#include <stdio.h>
#include <string.h>
void correlate(int h, int w, int kh, int kw, float in[h][w], float k[kh][kw], float out[h - kh + 1][w - kw + 1])
{
    memset(out, 0, sizeof(float) * (h - kh + 1) * (w - kw + 1));
    for (int y = 0; y < h - kh + 1; y++)
        for (int x = 0; x < w - kw + 1; x++)
            for (int i = 0; i < kh; i++)
                for (int j = 0; j < kw; j++)
                    out[y][x] += in[y + i][x + j] * k[i][j];
}
int main(void)
{
    enum { H = 15, W = 18, KH = 3, KW = 4 };
    static float in[H][W], k[KH][KW], out[H - KH + 1][W - KW + 1];
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++)
            in[i][j] = (i * j) % 7;
    for (int i = 0; i < KH; i++)
        for (int j = 0; j < KW; j++)
            k[i][j] = i - j * 0.5f;
    correlate(H, W, KH, KW, in, k, out);
    printf("%g %g %g\n", out[0][0], out[5][7], out[H - KH][W - KW]);
    return 0;
}
