typedef float v4 __attribute__((vector_size(16)));

void f(int n, v4 *a, v4 *b)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = b[i];
#pragma endscop
}
