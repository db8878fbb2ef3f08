// device: apply
#include <stdio.h>
void apply(int n, unsigned char *restrict px, const unsigned char lut[restrict 256])
{
    for (int i = 0; i < n; i++)
        px[i] = lut[px[i]];
}
int main(void)
{
    unsigned char px[777], lut[256];
    for (int i = 0; i < 256; i++) lut[i] = (i * i) / 255;
    for (int i = 0; i < 777; i++) px[i] = i;
    apply(777, px, lut);
    unsigned s = 0;
    for (int i = 0; i < 777; i++) s = s * 17 + px[i];
    printf("%u\n", s);
    return 0;
}
