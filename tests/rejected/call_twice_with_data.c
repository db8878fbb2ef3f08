static int place(const int *table, int i)
{
    int at = table[i] * 2;
    return at;
}

void f(int n, const int *table, float *a, float *b)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        a[place(table, i)] = i;
        b[place(table, i)] = i;
    }
#pragma endscop
}
