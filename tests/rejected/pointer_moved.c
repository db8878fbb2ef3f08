void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a += i, *a = 0;
#pragma endscop
}
