// flags: --device 8800gtx
// Time goes to the host, a launch for each of the two sweeps of a step.
void smooth(int n, int steps, float a[restrict n], float b[restrict n])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            b[i] = 0.25f * a[i - 1] + 0.5f * a[i] + 0.25f * a[i + 1];
        for (int i = 1; i < n - 1; i++)
            a[i] = b[i];
    }
#pragma endscop
}
