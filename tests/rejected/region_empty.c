void f(int n, float *a)
{
#pragma scop
    ;
#pragma endscop
}
