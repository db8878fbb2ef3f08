void f(int n, int *index, float *a)
{
    for (int i = 0; i < n; i++)
        a[index[i]] = 0;
}
