static float scale;

static float scaled(const float *x)
{
    return *x * scale;
}

void f(int n, float *a)
{
    float scale = 2;
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = scale * scaled(&a[i]);
#pragma endscop
}
