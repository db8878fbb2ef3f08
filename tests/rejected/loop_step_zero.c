void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n; i += 0)
        a[i] = 0;
#pragma endscop
}
