#define EACH(i, n) int i; for (i = 0; i < n; i++)

void f(int n, float *a)
{
    EACH(i, n)
        a[i] = 0;
}
