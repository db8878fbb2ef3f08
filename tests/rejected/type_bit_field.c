struct flags {
    unsigned ready : 1;
    unsigned done : 1;
};

void f(int n, struct flags *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i].ready = 0;
#pragma endscop
}
