void f(int n, int *k, float *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        switch (k[i]) {
        case 0:
            if (a[i] > 0)
        case 1:
                a[i] = 0;
        }
#pragma endscop
}
