// device: interleave
#include <stdio.h>
void interleave(int n, const float *l, const float *r, float *o)
{
    int k = 0;
    for (int i = 0; i < n; i++) {
        o[k] = l[i];
        k++;
        o[k] = r[i];
        k++;
    }
}
int main(void)
{
    float l[30], r[30], o[60];
    for (int i = 0; i < 30; i++) { l[i] = i; r[i] = -i; }
    interleave(30, l, r, o);
    printf("%g %g %g\n", o[2], o[3], o[59]);
    return 0;
}
