static int length(const int *x)
{
    return x[0];
}

void f(int n, float *a, int *k)
{
#pragma scop
    for (int i = 0; i < length(k); i++)
        a[i] = 0;
#pragma endscop
}
