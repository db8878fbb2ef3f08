// device: encode
#include <stdio.h>
static const char table[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
void encode(const unsigned char *in, int groups, char *out)
{
    for (int g = 0; g < groups; g++) {
        unsigned v = in[3 * g] << 16 | in[3 * g + 1] << 8 | in[3 * g + 2];
        out[4 * g + 0] = table[v >> 18 & 63];
        out[4 * g + 1] = table[v >> 12 & 63];
        out[4 * g + 2] = table[v >> 6 & 63];
        out[4 * g + 3] = table[v & 63];
    }
}
int main(void)
{
    unsigned char in[48];
    char out[65];
    for (int i = 0; i < 48; i++) in[i] = (unsigned char)(i * 37 + 11);
    encode(in, 16, out);
    out[64] = '\0';
    printf("%s\n", out);
    return 0;
}
