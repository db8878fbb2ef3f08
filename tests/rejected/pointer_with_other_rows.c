static void first(int n, float (*a)[8])
{
    for (int i = 0; i < n; i++)
        a[i][0] = 0;
}

void f(int n, int m, float a[n][m])
{
#pragma scop
    first(n, a);
#pragma endscop
}
