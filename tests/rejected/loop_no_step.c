void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n;)
        a[i] = 0;
#pragma endscop
}
