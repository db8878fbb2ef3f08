float *other(float *a);

void f(int n, float *a, float *b, float *c)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        float *p = i % 3 == 1 ? a : b;
        p[i] = 0;
        float *q = other(c);
        q[i] = 1;
    }
#pragma endscop
}
