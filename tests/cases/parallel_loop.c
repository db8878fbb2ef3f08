// flags: --device 8800gtx
// Every iteration is a point of its own: one kernel, a thread a point.
void scale(int n, float a, float x[restrict n], float y[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        y[i] = a * x[i];
#pragma endscop
}
