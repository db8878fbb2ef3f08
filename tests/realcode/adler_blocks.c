// device: checksum
#include <stdio.h>
#include <stdint.h>
#define BLOCK 64
void checksum(const uint8_t *data, int blocks, uint32_t *out)
{
    for (int b = 0; b < blocks; b++) {
        uint32_t s1 = 1, s2 = 0;
        for (int i = 0; i < BLOCK; i++) {
            s1 = (s1 + data[b * BLOCK + i]) % 65521;
            s2 = (s2 + s1) % 65521;
        }
        out[b] = (s2 << 16) | s1;
    }
}
int main(void)
{
    static uint8_t d[BLOCK * 10];
    uint32_t o[10];
    for (int i = 0; i < BLOCK * 10; i++) d[i] = (uint8_t)(i * 7 + i / 3);
    checksum(d, 10, o);
    for (int i = 0; i < 10; i += 3) printf("%08x\n", o[i]);
    return 0;
}
