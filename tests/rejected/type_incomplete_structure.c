struct hidden;

void f(int n, struct hidden *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i].value = 0;
#pragma endscop
}
