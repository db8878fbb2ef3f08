// device: losses
#include <stdio.h>
#include <math.h>
void losses(int n, int classes, const float *probs, const int *target, float *loss)
{
    for (int i = 0; i < n; i++)
        loss[i] = -logf(probs[i * classes + target[i]]);
}
int main(void)
{
    static float p[500], l[50];
    int t[50];
    for (int i = 0; i < 500; i++) p[i] = (i % 10 + 1) / 55.0f;
    for (int i = 0; i < 50; i++) t[i] = i * 3 % 10;
    losses(50, 10, p, t, l);
    for (int i = 0; i < 50; i += 7) printf("%.5f\n", l[i]);
    return 0;
}
