void f(int n, int *index, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[index[i]] = 0;
#pragma endscop
}
