void f(int n, int m, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i * m; j++)
            a[j] = 0;
#pragma endscop
}
