static int calls;

static float next(float x)
{
    calls++;
    return x + 1;
}

void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = next(a[i]);
#pragma endscop
}
