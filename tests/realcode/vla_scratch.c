// device: smooth
#include <stdio.h>
void smooth(int n, float *a, int times)
{
    float b[n];
    for (int t = 0; t < times; t++) {
        for (int i = 1; i < n - 1; i++) b[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
        for (int i = 1; i < n - 1; i++) a[i] = b[i];
    }
}
int main(void)
{
    float a[70];
    for (int i = 0; i < 70; i++) a[i] = i % 9;
    smooth(70, a, 4);
    for (int i = 0; i < 70; i += 8) printf("%g\n", a[i]);
    return 0;
}
