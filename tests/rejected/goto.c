void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
    {
        if (a[i] < 0)
            goto end;
        a[i] = 0;
    }
    end:;
#pragma endscop
}
