void f(int n, int *k, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        switch (k[i]) {
        case 0:
            a[i] = 0;
            break;
        default:
            a[i] = 1;
        }
#pragma endscop
}
