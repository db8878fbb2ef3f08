void f(float x, float *a)
{
#pragma scop
    for (int i = 0; i < x; i++)
        a[i] = 0;
#pragma endscop
}
