void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
    {
        if (a[i] < 0)
            break;
        a[i] = 0;
    }
#pragma endscop
}
