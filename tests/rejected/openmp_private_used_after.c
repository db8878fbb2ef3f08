float f(int n, float *a)
{
    float t = 0;
#pragma omp parallel for private(t)
    for (int i = 0; i < n; i++) {
        t = 2 * a[i];
        a[i] = t * t;
    }
    return t;
}
