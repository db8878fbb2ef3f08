int next(void);

void f(int n, float *restrict a, const int *restrict to)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = 0;
    for (int i = 0; i * i < n; i++)
        a[i] = 0;
    for (int i = 0; i > n; i++)
        a[i] = 0;
#pragma endscop
}
