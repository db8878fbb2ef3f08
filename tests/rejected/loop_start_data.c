void f(int n, int *start, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = start[i]; j < n; j++)
            a[j] = 0;
#pragma endscop
}
