float f(int n, const float *a)
{
    register float s = 0;
#pragma scop
    for (int i = 0; i < n; i++)
        s += a[i];
#pragma endscop
    return s;
}
