void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        if (a[i] > 0) {
            float t[2];
            t[0] = a[i];
            a[i] = t[0] + 1;
        }
#pragma endscop
}
