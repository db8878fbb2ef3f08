// device: average
#include <stdio.h>
#define N 64
float a[N], b[N];
void average(void)
{
    int left = N - 1;
    for (int i = 0; i < N; i++) {
        a[i] = (b[i] + b[left]) * 0.5f;
        left = i;
    }
}
int main(void)
{
    for (int i = 0; i < N; i++) b[i] = i;
    average();
    printf("%g %g %g\n", a[0], a[1], a[63]);
    return 0;
}
