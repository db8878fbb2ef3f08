void f(int n, float *a, float (*g)(float))
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = g(a[i]);
#pragma endscop
}
