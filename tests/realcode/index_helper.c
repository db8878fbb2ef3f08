// device: laplace
#include <stdio.h>
static inline int at(int x, int y, int z, int nx, int ny) { return (z * ny + y) * nx + x; }
void laplace(int nx, int ny, int nz, const float *a, float *b)
{
    for (int z = 1; z < nz - 1; z++)
        for (int y = 1; y < ny - 1; y++)
            for (int x = 1; x < nx - 1; x++)
                b[at(x, y, z, nx, ny)] = a[at(x - 1, y, z, nx, ny)] + a[at(x + 1, y, z, nx, ny)] + a[at(x, y - 1, z, nx, ny)] + a[at(x, y + 1, z, nx, ny)] + a[at(x, y, z - 1, nx, ny)] + a[at(x, y, z + 1, nx, ny)] - 6 * a[at(x, y, z, nx, ny)];
}
int main(void)
{
    static float a[10 * 9 * 8], b[10 * 9 * 8];
    for (int i = 0; i < 720; i++) a[i] = (i * i) % 50;
    laplace(10, 9, 8, a, b);
    for (int i = 100; i < 600; i += 61) printf("%g\n", b[i]);
    return 0;
}
