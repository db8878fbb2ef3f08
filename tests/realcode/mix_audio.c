// device: mix
#include <stdio.h>
#include <stdint.h>
typedef int16_t sample;
static inline sample saturate(int v)
{
    if (v > INT16_MAX) return INT16_MAX;
    if (v < INT16_MIN) return INT16_MIN;
    return (sample)v;
}
void mix(sample *restrict dst, const sample *restrict a, const sample *restrict b, unsigned frames, int gain_a, int gain_b)
{
    for (unsigned f = 0; f < frames; f++) {
        for (unsigned ch = 0; ch < 2; ch++) {
            unsigned i = f * 2 + ch;
            dst[i] = saturate((a[i] * gain_a + b[i] * gain_b) >> 8);
        }
    }
}
int main(void)
{
    sample a[100], b[100], d[100];
    for (int i = 0; i < 100; i++) {
        a[i] = (sample)(i * 997 % 65536 - 32768);
        b[i] = (sample)(i * 331 % 65536 - 32768);
    }
    mix(d, a, b, 50, 200, 230);
    printf("%d %d %d\n", d[0], d[51], d[99]);
    return 0;
}
