// device: wave
#include <stdio.h>
#define NX 400
float prev[NX], cur[NX], next[NX];
void wave(int steps)
{
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < NX - 1; i++)
            next[i] = 2 * cur[i] - prev[i] + 0.25f * (cur[i - 1] - 2 * cur[i] + cur[i + 1]);
        for (int i = 0; i < NX; i++) {
            prev[i] = cur[i];
            cur[i] = next[i];
        }
    }
}
int main(void)
{
    for (int i = 180; i < 220; i++) prev[i] = cur[i] = 1.0f;
    wave(12);
    for (int i = 0; i < NX; i += 23) printf("%g\n", cur[i]);
    return 0;
}
