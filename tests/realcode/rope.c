// device: rotate
#include <stdio.h>
#include <math.h>
void rotate(float *q, int dim, int head_size, int pos)
{
    for (int i = 0; i < dim; i += 2) {
        int head_dim = i % head_size;
        float freq = 1.0f / powf(10000.0f, head_dim / (float)head_size);
        float val = pos * freq;
        float fcr = cosf(val), fci = sinf(val);
        float v0 = q[i], v1 = q[i + 1];
        q[i] = v0 * fcr - v1 * fci;
        q[i + 1] = v0 * fci + v1 * fcr;
    }
}
int main(void)
{
    float q[96];
    for (int i = 0; i < 96; i++) q[i] = i;
    rotate(q, 96, 24, 5);
    for (int i = 0; i < 96; i += 9) printf("%.3f\n", q[i]);
    return 0;
}
