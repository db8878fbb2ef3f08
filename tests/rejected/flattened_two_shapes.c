void f(int n, int m, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            a[i * m + j] = a[j * n + i];
#pragma endscop
}
