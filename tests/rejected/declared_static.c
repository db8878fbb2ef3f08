void f(int n, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        static float t;
        t = a[i];
        a[i] = t + 1;
    }
#pragma endscop
}
