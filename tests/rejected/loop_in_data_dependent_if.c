void f(int n, float (*a)[100])
{
#pragma scop
    for (int i = 0; i < n; i++)
        if (a[i][0] > 0)
            for (int j = 0; j < a[i][1]; j++)
                a[j][i] = 0;
#pragma endscop
}
