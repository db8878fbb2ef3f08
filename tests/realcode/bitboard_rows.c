// device: neighbours
#include <stdio.h>
#include <stdint.h>
void neighbours(const uint64_t *a, uint64_t *out, int rows)
{
    for (int r = 0; r < rows; r++) {
        uint64_t up = r > 0 ? a[r - 1] : 0, down = r < rows - 1 ? a[r + 1] : 0;
        uint64_t x = up | down | (a[r] << 1) | (a[r] >> 1);
        out[r] = x & ~a[r];
    }
}
int main(void)
{
    uint64_t a[40], b[40];
    for (int i = 0; i < 40; i++) a[i] = 0x0123456789abcdefULL * (i + 1);
    neighbours(a, b, 40);
    printf("%016llx %016llx\n", (unsigned long long)b[0], (unsigned long long)b[39]);
    return 0;
}
