void f(int n, float *a)
{
    int i = 0;
#pragma scop
    for (int t = 0; t < n; t++) {
        a[t] = i;
        for (i = 0; i < n && n < 99; i++)
            a[i] += 1;
    }
#pragma endscop
}
