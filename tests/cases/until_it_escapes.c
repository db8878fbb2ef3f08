// flags: --device generic --target opencl
// A while of data within two parallel loops, and one that ends in the middle of its body.
void orbits(int n, int m, int most, const float re[restrict n], const float im[restrict m],
            int count[restrict n][m], float last[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            float x = 0, y = 0;
            int k = 0;
            while (k < most && x * x + y * y < 4) {
                float t = x * x - y * y + re[i];
                y = 2 * x * y + im[j];
                x = t;
                k++;
            }
            count[i][j] = k;
        }
    for (int i = 0; i < n; i++)
        for (int j = count[i][0]; j > 0; j--) {
            last[i] += im[j];
            if (last[i] > 9)
                break;
            last[i] *= 0.5f;
        }
#pragma endscop
}
