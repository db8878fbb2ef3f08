void f(int n, float *a, int *threads)
{
#pragma omp parallel
    {
#pragma omp atomic
        *threads += 1;
        for (int i = 0; i < n; i++)
            a[i] = 0;
    }
}
