// device: blur
#include <stdio.h>
#include <stdlib.h>
struct size { int w, h; };
struct image { struct size s; float *px; };
void blur(const struct image *a, struct image *b)
{
    for (int y = 1; y < a->s.h - 1; y++)
        for (int x = 1; x < a->s.w - 1; x++)
            b->px[y * b->s.w + x] = 0.2f * (a->px[y * a->s.w + x] + a->px[y * a->s.w + x - 1] + a->px[y * a->s.w + x + 1] + a->px[(y - 1) * a->s.w + x] + a->px[(y + 1) * a->s.w + x]);
}
int main(void)
{
    struct image a = {{25, 18}, malloc(450 * 4)}, b = {{25, 18}, calloc(450, 4)};
    for (int i = 0; i < 450; i++) a.px[i] = i % 14;
    blur(&a, &b);
    for (int i = 0; i < 450; i += 37) printf("%g\n", b.px[i]);
    return 0;
}
