// device: simulate
#include <stdio.h>
static unsigned lcg(unsigned s) { return s * 1664525u + 1013904223u; }
void simulate(int paths, int steps, const unsigned *seed, float *result)
{
    for (int p = 0; p < paths; p++) {
        unsigned s = seed[p];
        float v = 100.0f;
        for (int t = 0; t < steps; t++) {
            s = lcg(s);
            float u = (s >> 8) * (1.0f / 16777216.0f);
            v *= 1.0f + 0.02f * (u - 0.5f);
        }
        result[p] = v;
    }
}
int main(void)
{
    unsigned seed[100];
    float r[100];
    for (int i = 0; i < 100; i++) seed[i] = i * 2654435761u;
    simulate(100, 12, seed, r);
    for (int i = 0; i < 100; i += 11) printf("%.4f\n", r[i]);
    return 0;
}
