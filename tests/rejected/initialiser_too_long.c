void f(int n, float *a)
{
#pragma scop
    float w[1000] = {0};
    for (int i = 0; i < n; i++)
        a[i] = w[i];
#pragma endscop
}
