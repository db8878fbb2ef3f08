// device: dilate
#include <stdio.h>
#define W 48
#define H 32
unsigned char in[H][W], out[H][W];
static unsigned char max8(unsigned char a, unsigned char b) { return a > b ? a : b; }
void dilate(void)
{
    int x, y;
    for (y = 1; y < H - 1; y++)
        for (x = 1; x < W - 1; x++)
            out[y][x] = max8(max8(in[y][x - 1], in[y][x + 1]), max8(in[y][x], max8(in[y - 1][x], in[y + 1][x])));
}
int main(void)
{
    unsigned s = 0;
    for (int i = 0; i < H; i++) for (int j = 0; j < W; j++) in[i][j] = (i * 37 + j * 91) % 251;
    dilate();
    for (int i = 0; i < H; i++) for (int j = 0; j < W; j++) s = s * 7 + out[i][j];
    printf("%u\n", s);
    return 0;
}
