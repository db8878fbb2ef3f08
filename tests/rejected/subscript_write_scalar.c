void f(int n, float *a)
{
    int k = 0;
#pragma scop
    for (int i = 0; i < n; i++) {
        k = k + i;
        a[k] = 0;
    }
#pragma endscop
}
