void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = (i != 0) & a[i];
#pragma endscop
}
