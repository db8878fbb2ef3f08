void f(int n, int step, float *a)
{
#pragma scop
    for (int i = 0; i < n; i += step)
        a[i] = 0;
#pragma endscop
}
