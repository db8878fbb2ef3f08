struct image { int w; float *data; };
void f(int n, struct image *p)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            p->data[j] = 0;
#pragma endscop
}
