void f(int n, float *a)
{
#pragma scop
    again:
    for (int i = 0; i < n; i++)
        a[i] = 0;
#pragma endscop
    if (a[0] > n)
        goto again;
}
