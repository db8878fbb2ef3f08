// device: rows
#include <stdio.h>
#include <string.h>
void rows(int n, int m, float *a, const float *b)
{
    for (int i = 0; i < n; i++) {
        memset(a + i * m, 0, m * sizeof(float));
        for (int j = 0; j < m; j++)
            a[i * m + j] += b[j];
    }
}
int main(void)
{
    float a[15 * 22], b[22];
    for (int i = 0; i < 330; i++) a[i] = 9;
    for (int j = 0; j < 22; j++) b[j] = j;
    rows(15, 22, a, b);
    printf("%g %g\n", a[0], a[329]);
    return 0;
}
