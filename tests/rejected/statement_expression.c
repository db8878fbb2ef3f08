void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = ({ float t = 1; t; });
#pragma endscop
}
