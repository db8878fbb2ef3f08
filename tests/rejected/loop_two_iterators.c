void f(int n, float *a)
{
#pragma scop
    for (int i = 0, j = n; i < j; i++, j = j / 2)
        a[i] = 0;
#pragma endscop
}
