// flags: --device h100
// What the data decide stays inside the point.
void clip(int n, float limit, float x[restrict n], float y[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        if (x[i] > limit)
            y[i] = limit;
        else
            y[i] = x[i];
    }
#pragma endscop
}
