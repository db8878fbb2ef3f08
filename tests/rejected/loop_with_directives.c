void f(int n, float *a)
{
    for (int i = 0; i < n; i++) {
#ifdef FAST
        a[i] = 0;
#else
        a[i] = 1;
#endif
    }
}
