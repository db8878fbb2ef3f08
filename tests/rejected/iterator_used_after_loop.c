void f(int n, float *a)
{
    int i;
#pragma scop
    for (i = 0; i < n && n < 99; i++)
        a[i] = 0;
    a[i] = 1;
#pragma endscop
}
