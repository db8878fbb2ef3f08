// device: cipher
#include <stdio.h>
void cipher(unsigned char *text, int n, const unsigned char key[16])
{
    for (int i = 0; i < n; i++)
        text[i] ^= key[i & 15];
}
int main(void)
{
    unsigned char t[333], k[16];
    unsigned s = 0;
    for (int i = 0; i < 333; i++) t[i] = i;
    for (int i = 0; i < 16; i++) k[i] = i * 17;
    cipher(t, 333, k);
    for (int i = 0; i < 333; i++) s = s * 31 + t[i];
    printf("%u\n", s);
    return 0;
}
