void f(int n, float a[n][n])
{
    {
        int n = 3;
#pragma scop
        for (int i = 0; i < n; i++)
            a[i][i] = 0;
#pragma endscop
    }
}
