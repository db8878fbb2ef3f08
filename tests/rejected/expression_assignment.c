void f(int n, float *a, float *b)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = (b[i] = 1) + 2;
#pragma endscop
}
