#define REGION _Pragma("scop")
#define END _Pragma("endscop")

void f(int n, float *a)
{
    REGION
    for (int i = 0; i < n; i++)
        a[i] = 0;
    END
}
