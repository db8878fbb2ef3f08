void f(int n, float *a)
{
#pragma scop
    while (a[n] > 0) {
        a[n] = 0;
        n /= 2;
    }
#pragma endscop
}
