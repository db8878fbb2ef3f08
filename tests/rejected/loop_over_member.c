struct cell {
    int x, y;
};

void f(int n, float *a)
{
    struct cell c;
#pragma scop
    for (c.x = 0; c.x < n; c.x++)
        a[c.x] = 0;
#pragma endscop
}
