// flags: --device 8800gtx
// One scalar for all iterations forbids parallelism by its name only: each point gets its own.
void squares(int n, float x[restrict n], float y[restrict n])
{
    float t;
#pragma scop
    for (int i = 0; i < n; i++) {
        t = x[i] + 1;
        y[i] = t * t;
    }
#pragma endscop
}
