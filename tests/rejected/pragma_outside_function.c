#pragma scop
float a[10];
#pragma endscop

void f(void)
{
    for (int i = 0; i < 10; i++)
        a[i] = 0;
}
