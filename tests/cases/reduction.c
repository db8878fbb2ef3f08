// flags: --device 8800gtx
// The order of additions is the source's: one thread sums.
void sum(int n, float x[restrict n], float s[restrict 1])
{
#pragma scop
    s[0] = 0;
    for (int i = 0; i < n; i++)
        s[0] += x[i];
#pragma endscop
}
