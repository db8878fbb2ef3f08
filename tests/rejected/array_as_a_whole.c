struct pair {
    float x, y;
};

void f(int n, struct pair *a, struct pair *b)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i].x = b;
#pragma endscop
}
