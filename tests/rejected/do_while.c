void f(int n, float *a)
{
#pragma scop
    do {
        a[n] = 0;
        n /= 2;
    } while (n > 0);
#pragma endscop
}
