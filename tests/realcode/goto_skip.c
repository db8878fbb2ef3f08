// device: clean
#include <stdio.h>
void clean(int n, float *a, const float *b)
{
    for (int i = 0; i < n; i++) {
        if (b[i] < 0)
            goto next;
        a[i] = a[i] / (b[i] + 1);
    next:;
    }
}
int main(void)
{
    float a[60], b[60];
    for (int i = 0; i < 60; i++) { a[i] = i; b[i] = i % 5 - 1; }
    clean(60, a, b);
    for (int i = 0; i < 60; i += 7) printf("%g\n", a[i]);
    return 0;
}
