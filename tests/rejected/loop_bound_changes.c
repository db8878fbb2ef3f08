void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
    {
        a[i] = 0;
        n = n / 2;
    }
#pragma endscop
}
