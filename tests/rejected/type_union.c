union word {
    float f;
    int i;
};

void f(int n, union word *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i].f = 0;
#pragma endscop
}
