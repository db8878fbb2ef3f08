// device: resize
#include <stdio.h>
#include <math.h>
void resize(int sh, int sw, float src[sh][sw], int dh, int dw, float dst[dh][dw])
{
    for (int y = 0; y < dh; y++)
        for (int x = 0; x < dw; x++) {
            float fy = (float)y * (sh - 1) / (dh - 1), fx = (float)x * (sw - 1) / (dw - 1);
            int y0 = (int)fy, x0 = (int)fx;
            int y1 = y0 < sh - 1 ? y0 + 1 : y0, x1 = x0 < sw - 1 ? x0 + 1 : x0;
            float ty = fy - y0, tx = fx - x0;
            dst[y][x] = (1 - ty) * ((1 - tx) * src[y0][x0] + tx * src[y0][x1]) + ty * ((1 - tx) * src[y1][x0] + tx * src[y1][x1]);
        }
}
int main(void)
{
    static float src[16][24], dst[30][40];
    for (int i = 0; i < 16; i++) for (int j = 0; j < 24; j++) src[i][j] = i * 3 + j;
    resize(16, 24, src, 30, 40, dst);
    for (int i = 0; i < 30; i += 7) printf("%g %g\n", dst[i][i], dst[i][39]);
    return 0;
}
