struct node {
    float value;
    float *row;
    struct node *next;
};

void f(int n, struct node *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i].value = a[i].row[0];
#pragma endscop
}

void g(int n, struct node *a)
{
#pragma scop
    for (int i = 1; i < n; i++)
        a[i - 1].next = &a[i];
#pragma endscop
}

void h(int n, int k, struct node *a, float *sum)
{
#pragma scop
    for (int i = 0; i < n; i++)
        *sum += a[k].next->value;
#pragma endscop
}
