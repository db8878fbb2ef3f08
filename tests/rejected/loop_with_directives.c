void f(int n, float *a)
{
#ifdef FAST
    for (int i = 0; i < n; i += 2) {
#else
    for (int i = 0; i < n; i++) {
#endif
        a[i] = 0;
    }
}
