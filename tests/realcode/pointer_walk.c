// device: scale_add
#include <stdio.h>
void scale_add(float *dst, const float *src, float k, int count)
{
    while (count-- > 0)
        *dst++ += k * *src++;
}
int main(void)
{
    float a[90], b[90];
    for (int i = 0; i < 90; i++) { a[i] = i; b[i] = 90 - i; }
    scale_add(a, b, 0.5f, 90);
    for (int i = 0; i < 90; i += 9) printf("%g\n", a[i]);
    return 0;
}
