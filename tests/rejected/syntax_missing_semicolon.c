void f(int n, float *a)
{
    for (int i = 0; i < n; i++)
        a[i] = 0
    a[0] = 1;
}
