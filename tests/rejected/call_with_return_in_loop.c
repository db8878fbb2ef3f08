static int first(int n, const float *x)
{
    for (int i = 0; i < n; i++)
        if (x[i] > 0)
            return i;
    return n;
}

void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = first(n, a);
#pragma endscop
}
