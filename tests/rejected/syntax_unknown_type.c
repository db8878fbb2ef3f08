void f(int n, real *a)
{
    for (int i = 0; i < n; i++)
        a[i] = 0;
}
