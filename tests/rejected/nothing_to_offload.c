void f(int n, float *a)
{
    while (n-- > 0)
        a[n] = 0;
}
