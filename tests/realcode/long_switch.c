// device: shape
#include <math.h>
#include <stdio.h>
enum curve { LINE, HINGE, LEAK, STEP, RAMP, BELL, CLIP, CUBE, HALF, DECAY, SOFT, STAIRS, BUMP, SIGN };
static float soft(float x) { return x / (1 + fabsf(x)); }
static float clip(float x)
{
    if (x < -1)
        return -1;
    if (x > 1)
        return 1;
    return x;
}
static float curve(float x, enum curve kind)
{
    switch (kind) {
    case LINE: return x;
    case HINGE: return x * (x > 0);
    case LEAK: return x > 0 ? x : 0.125f * x;
    case STEP: return x >= 0;
    case RAMP: return x * (x > 0) + 0.5f * x;
    case BELL: return 1 / (1 + x * x);
    case CLIP: return clip(x);
    case CUBE: return x * x * x;
    case HALF: return 0.5f * x;
    case DECAY: return x < 0 ? 1 : 1 / (1 + x);
    case SOFT: return soft(x);
    case STAIRS: return floorf(x);
    case BUMP: return x > -1 && x < 1 ? 1 - x * x : 0;
    case SIGN: return (x > 0) - (x < 0);
    }
    return -7;
}
void shape(float *x, int n, enum curve kind)
{
    for (int i = 0; i < n; i++)
        x[i] = curve(x[i], kind);
}
int main(void)
{
    enum { N = 300 };
    float x[N];
    for (int kind = LINE - 1; kind <= SIGN + 1; kind++) {
        double sum = 0;
        for (int i = 0; i < N; i++)
            x[i] = (i - 150) / 32.0f;
        shape(x, N, (enum curve)kind);
        for (int i = 0; i < N; i++)
            sum += x[i] * (i % 7);
        printf("%d %g %g %g\n", kind, x[10], x[290], sum);
    }
    return 0;
}
