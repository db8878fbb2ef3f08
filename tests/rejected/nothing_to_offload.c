void f(int n, float *a)
{
    while (a[n] > 0)
        a[n--] = 0;
}
