// device: evolve
#include <stdio.h>
#include <stdlib.h>
enum { H = 24, W = 32 };
static unsigned char *cur[H], *nxt[H];
static void evolve(unsigned char *u[], unsigned char *v[], int w, int h)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            int n = 0;
            for (int y1 = y - 1; y1 <= y + 1; y1++)
                for (int x1 = x - 1; x1 <= x + 1; x1++)
                    if (y1 >= 0 && y1 < h && x1 >= 0 && x1 < w && u[y1][x1])
                        n++;
            if (u[y][x])
                n--;
            v[y][x] = (n == 3 || (n == 2 && u[y][x]));
        }
}
int main(void)
{
    int alive = 0;
    for (int y = 0; y < H; y++) {
        cur[y] = malloc(W);
        nxt[y] = malloc(W);
        for (int x = 0; x < W; x++)
            cur[y][x] = (x * 7 + y * 5 + x * y) % 3 == 0;
    }
    for (int g = 0; g < 4; g++) {
        evolve(cur, nxt, W, H);
        for (int y = 0; y < H; y++) {
            unsigned char *t = cur[y];
            cur[y] = nxt[y];
            nxt[y] = t;
        }
    }
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            alive += cur[y][x];
    printf("%d\n", alive);
    return 0;
}
