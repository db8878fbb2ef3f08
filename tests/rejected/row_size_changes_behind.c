void use(void *);
void f(int n, int m)
{
    float a[n][m];
    use(a);
    if (n > 3)
        m = n;
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            a[i][j] = 0;
#pragma endscop
    use(a);
}
