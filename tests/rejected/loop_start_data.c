void f(int n, int *start)
{
#pragma scop
    for (int j = 0; j < n; j++)
        for (int i = start[j]; i < n; i++)
            start[i] = 0;
#pragma endscop
}
