void f(int n, float *a)
{
#pragma scop
    for (int i = 0, j = n; i < j; i++)
        a[i] = 0;
#pragma endscop
}
