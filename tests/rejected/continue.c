void f(int n, float *a)
{
    for (int i = 0; i < n; i++) {
#pragma scop
        for (int j = 0; j < n; j++)
            a[j] += i;
        if (i == 3)
            continue;
        a[i] = 0;
#pragma endscop
    }
}
