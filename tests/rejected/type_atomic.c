void f(int n, float *a, _Atomic int *count)
{
#pragma scop
    for (int i = 0; i < n; i++)
        *count += 1;
#pragma endscop
}
