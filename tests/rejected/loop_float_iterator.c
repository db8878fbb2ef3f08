void f(float *a)
{
#pragma scop
    for (float x = 0; x < 1; x += 0.5f)
        a[0] += x;
#pragma endscop
}
