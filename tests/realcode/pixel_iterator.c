// device: tint
#include <stdio.h>
#include <stdint.h>
typedef struct { uint8_t r, g, b, a; } rgba;
typedef struct { rgba *begin, *end; } span;
void tint(span s, int amount)
{
    rgba *p;
    for (p = s.begin; p < s.end; p++) {
        int r = p->r + amount;
        int b = p->b - amount;
        p->r = r > 255 ? 255 : r;
        p->b = b < 0 ? 0 : b;
    }
}
int main(void)
{
    rgba px[60];
    for (int i = 0; i < 60; i++) {
        px[i].r = i * 4; px[i].g = i; px[i].b = 255 - i * 4; px[i].a = 255;
    }
    span s = {px + 5, px + 55};
    tint(s, 40);
    unsigned h = 0;
    for (int i = 0; i < 60; i++)
        h = h * 31 + px[i].r + 3 * px[i].b;
    printf("%u\n", h);
    return 0;
}
