void f(int n, float *a)
{
#pragma scop
    int i = 0;
    for (; i < n; i++)
        a[i] = 0;
#pragma endscop
}
