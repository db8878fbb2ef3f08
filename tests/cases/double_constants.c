// flags: --device h100
// A float times a constant of double takes two operations of float where that rounds alike for every float.
void smooth(int n, float a[restrict n], float b[restrict n], double c[restrict n])
{
#pragma scop
    for (int i = 1; i < n - 1; i++) {
        b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1]);
        b[i] *= -0.1;
        float t = a[i] * 1e-3;
        c[i] = 0.33333 * a[i] + (float)(0.25 * t) + (float)(t * 0.1) + 3.14159 * t;
    }
#pragma endscop
}
