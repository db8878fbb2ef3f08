// device: julia
#include <stdio.h>
static int iterate(double zr, double zi, double cr, double ci)
{
    for (int k = 0; k < 40; k++) {
        double t = zr * zr - zi * zi + cr;
        zi = 2 * zr * zi + ci;
        zr = t;
        if (zr * zr + zi * zi > 4) return k;
    }
    return 40;
}
void julia(int n, int *out)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            out[i * n + j] = iterate(-1.5 + 3.0 * i / n, -1.5 + 3.0 * j / n, -0.7, 0.27);
}
int main(void)
{
    static int out[28 * 28];
    unsigned s = 0;
    julia(28, out);
    for (int i = 0; i < 28 * 28; i++) s = s * 5 + out[i];
    printf("%u\n", s);
    return 0;
}
