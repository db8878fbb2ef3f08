void f(int n, float *(*a)[4])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i][j][0] = 0;
#pragma endscop
}
