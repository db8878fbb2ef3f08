// device: mandel
#include <stdio.h>
void mandel(int w, int h, int out[h][w], int most)
{
    for (int py = 0; py < h; py++)
        for (int px = 0; px < w; px++) {
            float x0 = -2.0f + px * 3.0f / w, y0 = -1.0f + py * 2.0f / h;
            float x = 0, y = 0;
            int it = 0;
            while (x * x + y * y <= 4.0f && it < most) {
                float t = x * x - y * y + x0;
                y = 2 * x * y + y0;
                x = t;
                it++;
            }
            out[py][px] = it;
        }
}
int main(void)
{
    static int out[24][36];
    long s = 0;
    mandel(36, 24, out, 50);
    for (int i = 0; i < 24; i++) for (int j = 0; j < 36; j++) s = (s * 7 + out[i][j]) % 10007;
    printf("%ld\n", s);
    return 0;
}
