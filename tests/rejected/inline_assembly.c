void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
    {
        __asm__ volatile("nop");
        a[i] = 0;
    }
#pragma endscop
}
