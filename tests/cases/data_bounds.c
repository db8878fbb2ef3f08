// flags: --device h100
// A loop whose bounds are data is part of the point that sums it up: what it counts are locals of a thread.
void product(int n, int m, const int first[restrict n + 1], const int column[restrict m],
             const float value[restrict m], const float x[restrict n], float y[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        float s = 0;
        for (int j = first[i]; j < first[i + 1]; j++)
            s += value[j] * x[column[j]];
        y[i] = s;
    }
#pragma endscop
}
