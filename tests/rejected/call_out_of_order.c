static float taken(float *x)
{
    *x = *x - 1;
    return *x;
}

void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = a[i] + taken(&a[i]);
#pragma endscop
}
