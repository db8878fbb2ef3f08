// device: pool
#include <stdio.h>
#include <stdlib.h>
void pool(float **in, float **out, int oh, int ow)
{
    for (int y = 0; y < oh; y++)
        for (int x = 0; x < ow; x++) {
            float m = in[2 * y][2 * x];
            for (int dy = 0; dy < 2; dy++)
                for (int dx = 0; dx < 2; dx++)
                    if (in[2 * y + dy][2 * x + dx] > m)
                        m = in[2 * y + dy][2 * x + dx];
            out[y][x] = m;
        }
}
int main(void)
{
    float *in[12], *out[6];
    for (int y = 0; y < 12; y++) {
        in[y] = malloc(16 * sizeof(float));
        for (int x = 0; x < 16; x++)
            in[y][x] = (float)((y * 19 + x * 7) % 23);
    }
    for (int y = 0; y < 6; y++)
        out[y] = malloc(8 * sizeof(float));
    pool(in, out, 6, 8);
    float s = 0;
    for (int y = 0; y < 6; y++)
        for (int x = 0; x < 8; x++)
            s += out[y][x] * (y + 1);
    printf("%g\n", s);
    return 0;
}
