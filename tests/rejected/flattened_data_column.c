void f(int n, int *index, float *a, float *x)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x[i] += a[i * n + index[j]];
#pragma endscop
}
