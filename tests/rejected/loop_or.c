void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n || i < 10; i++)
        a[i] = 0;
#pragma endscop
}
