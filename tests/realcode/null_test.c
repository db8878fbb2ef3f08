// device: add_bias
#include <stdio.h>
void add_bias(int n, int m, float *y, const float *bias)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            if (bias)
                y[i * m + j] += bias[j];
}
int main(void)
{
    float y[10 * 16] = {0}, b[16];
    for (int j = 0; j < 16; j++) b[j] = j;
    add_bias(10, 16, y, b);
    add_bias(10, 16, y, NULL);
    printf("%g\n", y[159]);
    return 0;
}
