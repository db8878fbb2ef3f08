void f(int n, int *end, float (*a)[100])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < end[i]; j++)
            a[j][i] = 0;
#pragma endscop
}
