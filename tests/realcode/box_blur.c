// device: blur
#include <stdio.h>
void blur(int h, int w, float in[h][w], float out[h][w])
{
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            float s = 0;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++)
                    s += in[y + dy][x + dx];
            out[y][x] = s / 9.0f;
        }
}
int main(void)
{
    static float in[30][45], out[30][45];
    for (int i = 0; i < 30; i++) for (int j = 0; j < 45; j++) in[i][j] = (i * 13 + j * 7) % 32;
    blur(30, 45, in, out);
    for (int i = 0; i < 30; i += 5) printf("%g %g\n", out[i][i], out[i][44 - i]);
    return 0;
}
