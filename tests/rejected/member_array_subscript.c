struct point {
    float v[3];
};

void f(int n, struct point *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            a[i].v[k] = 0;
#pragma endscop
}
