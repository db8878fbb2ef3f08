struct pair {
    float x, y;
};

void f(int n, struct pair *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i].z = 0;
#pragma endscop
}
