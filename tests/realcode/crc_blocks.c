// device: crcs
#include <stdio.h>
void crcs(int blocks, int len, const unsigned char *data, const unsigned *table, unsigned *out)
{
    int b, i;
    for (b = 0; b < blocks; b++) {
        unsigned crc = 0xffffffffu;
        for (i = 0; i < len; i++)
            crc = table[(crc ^ data[b * len + i]) & 0xff] ^ (crc >> 8);
        out[b] = ~crc;
    }
}
int main(void)
{
    static unsigned table[256], out[30];
    static unsigned char data[30 * 20];
    for (unsigned i = 0; i < 256; i++) {
        unsigned c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
        table[i] = c;
    }
    for (int i = 0; i < 600; i++) data[i] = i * 3;
    crcs(30, 20, data, table, out);
    for (int i = 0; i < 30; i += 4) printf("%08x\n", out[i]);
    return 0;
}
