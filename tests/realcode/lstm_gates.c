// device: cell
#include <stdio.h>
#include <math.h>
#define HID 20
static float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
void cell(int hidden, const float *gates, float *c, float *h)
{
    for (int k = 0; k < hidden; k++) {
        float i = sigmoid(gates[k]);
        float f = sigmoid(gates[hidden + k]);
        float g = tanhf(gates[2 * hidden + k]);
        float o = sigmoid(gates[3 * hidden + k]);
        c[k] = f * c[k] + i * g;
        h[k] = o * tanhf(c[k]);
    }
}
int main(void)
{
    float gates[4 * HID], c[HID] = {0}, h[HID];
    for (int i = 0; i < 4 * HID; i++) gates[i] = ((i * 11) % 17) * 0.2f - 1.5f;
    cell(HID, gates, c, h);
    cell(HID, gates, c, h);
    for (int k = 0; k < HID; k += 6) printf("%.6f %.6f\n", c[k], h[k]);
    return 0;
}
