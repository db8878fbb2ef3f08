// device: forward
#include <stdio.h>
#include <math.h>
static float squash(float x) { return 1.0f / (1.0f + expf(-x)); }
void forward(const float l1[21], float l2[17], const float conn[21][17], int n1, int n2)
{
    for (int j = 1; j <= n2; j++) {
        float sum = 0.0f;
        for (int k = 0; k <= n1; k++)
            sum += conn[k][j] * l1[k];
        l2[j] = squash(sum);
    }
}
int main(void)
{
    static float a[21], b[17], w[21][17];
    for (int i = 0; i < 21; i++) { a[i] = 0.1f * i; for (int j = 0; j < 17; j++) w[i][j] = 0.01f * (i - j); }
    forward(a, b, (const float (*)[17])w, 20, 16);
    for (int j = 1; j < 17; j += 3) printf("%.5f\n", b[j]);
    return 0;
}
