void f(int n, float *a, int *last)
{
    int i;
#pragma scop
    for (i = 0; i < n && n < 99; i++)
        a[i] = 0;
#pragma endscop
    *last = i;
}
