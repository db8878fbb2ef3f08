int i;

void f(int n, float *a)
{
#pragma scop
    for (i = 0; i < n; i++)
        a[i] = 0;
#pragma endscop
}
