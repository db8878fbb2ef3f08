// device: step
#include <stdio.h>
#define FOR(i, n) for (int i = 0; i < (n); i++)
static float w[300], v[300], g[300];
void step(float lr, float mu)
{
    FOR(i, 300) {
        v[i] = mu * v[i] - lr * g[i];
        w[i] += v[i];
    }
}
int main(void)
{
    FOR(i, 300) { w[i] = i; g[i] = i % 13; }
    FOR(k, 3) step(0.1f, 0.9f);
    for (int i = 0; i < 300; i += 29) printf("%g\n", w[i]);
    return 0;
}
