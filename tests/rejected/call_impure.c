static float next(float x)
{
    static int calls;
    calls++;
    return x + calls;
}

void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = next(a[i]);
#pragma endscop
}
