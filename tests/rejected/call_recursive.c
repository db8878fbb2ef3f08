static int factorial(int k)
{
    return k < 2 ? 1 : k * factorial(k - 1);
}

void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = factorial(i);
#pragma endscop
}
