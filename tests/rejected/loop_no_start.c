void f(int n, float *a)
{
#pragma scop
    for (; n > 0;)
        a[0] = 0;
#pragma endscop
}
