void f(int n, int *start, float *a)
{
#pragma scop
    for (int i = start[0]; i < n; i++)
        a[i] = 0;
#pragma endscop
}
