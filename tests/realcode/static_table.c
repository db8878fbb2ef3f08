// device: encode
#include <stdio.h>
static const unsigned short weights[8] = {1, 2, 4, 8, 16, 32, 64, 128};
void encode(int n, const _Bool bits[][8], unsigned char *out)
{
    for (int i = 0; i < n; i++) {
        unsigned v = 0;
        for (int b = 0; b < 8; b++)
            if (bits[i][b])
                v += weights[b];
        out[i] = v;
    }
}
int main(void)
{
    static _Bool bits[60][8];
    unsigned char o[60];
    unsigned s = 0;
    for (int i = 0; i < 60; i++) for (int b = 0; b < 8; b++) bits[i][b] = (i * 11 + b * 3) % 4 == 0;
    encode(60, (const _Bool (*)[8])bits, o);
    for (int i = 0; i < 60; i++) s = s * 5 + o[i];
    printf("%u\n", s);
    return 0;
}
