void f(int n, float *a, float *b)
{
    int k = 0;
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = i < n / 2 ? b[k++] : 0;
#pragma endscop
}
