void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
    {
        if (i == 3)
            continue;
        a[i] = 0;
    }
#pragma endscop
}
