static float first(const float *x)
{
    return x[0];
}

void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = first(a);
#pragma endscop
}
