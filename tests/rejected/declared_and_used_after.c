void f(int n, float *a)
{
#pragma scop
    float s = 0;
    for (int i = 0; i < n; i++)
        s += a[i];
#pragma endscop
    a[0] = s;
}
