int next(void);

void f(int n, float *a)
{
#pragma omp parallel
    {
        int mine = next();
#pragma omp for
        for (int i = 0; i < n; i++)
            a[i] = mine;
    }
}
