// device: smooth spread
#include <stdio.h>
#include <stddef.h>
#define SIZE 64u
static int ring[SIZE], out[SIZE], wide[32];
void smooth(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        out[i] = 2 * ring[i % SIZE] - ring[(i - 1u) % SIZE] - ring[(i + 1u) % SIZE] + ring[(i - 70) % SIZE];
}
void spread(void)
{
    for (size_t i = 0; i < 32; i++)
        wide[(3 - i) % 32] = out[i] + ring[(i - 5) % 64];
}
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 64; i++) ring[i] = i * i % 37;
    smooth(64);
    spread();
    for (int i = 0; i < 64; i++) sum += out[i] * (i + 1);
    for (int i = 0; i < 32; i++) sum += wide[i] * (i + 5);
    printf("%d %d %d %d\n", sum, out[0], out[63], wide[30]);
    return 0;
}
