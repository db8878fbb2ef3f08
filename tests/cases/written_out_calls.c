// flags: --device h100
// What pointers and arrays are given to is written out; pointers are names of the caller's elements.
struct complex {
    float re, im;
};

static void multiply(struct complex *r, const struct complex *x, const struct complex *y)
{
    float t = x->re * y->re - x->im * y->im;
    r->im = x->re * y->im + x->im * y->re;
    r->re = t;
}

static float near(int n, const float *x, int i)
{
    if (i < 0)
        return x[0];
    return i < n ? x[i] : x[n - 1];
}

void products(int n, struct complex a[restrict n], struct complex b[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        multiply(&a[i], &a[i], &b[i]);
#pragma endscop
}

void smooth(int n, int m, float a[restrict n][m], float b[restrict n][m])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            b[i][j] = near(m, a[i], j - 1) + near(m, a[i], j + 1);
#pragma endscop
}
