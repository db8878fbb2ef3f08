// device: scale_rows
#include <stdio.h>
static void row(int m, float *r, float k) { for (int j = 0; j < m; j++) r[j] *= k; }
void scale_rows(int n, int m, float *a, const float *k) { for (int i = 0; i < n; i++) row(m, a + i * m, k[i]); }
int main(void)
{
    float a[12 * 17], k[12];
    for (int i = 0; i < 12 * 17; i++) a[i] = i;
    for (int i = 0; i < 12; i++) k[i] = i;
    scale_rows(12, 17, a, k);
    printf("%g %g\n", a[20], a[203]);
    return 0;
}
