void f(int n, float *a, float **p)
{
#pragma scop
    for (int i = 0; i < n; i++)
        p[i] = &a[i];
#pragma endscop
}
