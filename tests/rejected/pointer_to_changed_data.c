void f(int n, int *k, const float *a, float *x)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        const float *p = &a[k[i]];
        k[i] = 0;
        x[i] = *p;
    }
#pragma endscop
}
