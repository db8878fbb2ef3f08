void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n; i += i / 2 + 1)
        a[i] = 0;
#pragma endscop
}
