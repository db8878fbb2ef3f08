void f(int n, int m, float *a)
{
#pragma scop
    for (int i = 0; i < n * m; i++)
        a[i] = 0;
#pragma endscop
}
