// flags: --device 8800gtx
// Every third element: points that no iteration has are skipped.
void thirds(int n, float x[restrict n])
{
#pragma scop
    for (int i = 1; i < n; i += 3)
        x[i] = 2 * x[i];
#pragma endscop
}
