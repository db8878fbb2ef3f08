void f(int n, int m, float *a)
{
#pragma scop
    for (int i = 0; m > 0 ? i < n : i > n; i += 2)
        a[i] = 0;
#pragma endscop
}
