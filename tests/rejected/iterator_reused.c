void f(int n, float *a)
{
#pragma scop
    int i;
    for (i = 0; i < n; i++)
        for (i = 0; i < n; i++)
            a[i] = 0;
#pragma endscop
}
