struct record {
    char tag;
    float value;
} __attribute__((packed));

void f(int n, struct record *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i].value = 0;
#pragma endscop
}
