void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        i[a] += 2;
#pragma endscop
}
