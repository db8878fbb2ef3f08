void f(int n, float *a)
{
#pragma scop
    do {
        a[n] = 0;
        n--;
    } while (n > 0);
#pragma endscop
}
