struct node {
    float value;
    struct node *next;
};

void f(int n, struct node *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i].value = 0;
#pragma endscop
}
