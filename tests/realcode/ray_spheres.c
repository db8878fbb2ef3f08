// device: trace
#include <stdio.h>
#include <math.h>
#define W 16
#define H 12
typedef struct { double cx, cy, cz, r; } sphere;
void trace(const sphere *s, int n, double *depth)
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            double dx = (x - W / 2) / (double)W, dy = (y - H / 2) / (double)H, dz = 1;
            double len = sqrt(dx * dx + dy * dy + dz * dz), best = 1e9;
            dx /= len; dy /= len; dz /= len;
            for (int k = 0; k < n; k++) {
                double b = dx * s[k].cx + dy * s[k].cy + dz * s[k].cz;
                double c = s[k].cx * s[k].cx + s[k].cy * s[k].cy + s[k].cz * s[k].cz - s[k].r * s[k].r;
                double disc = b * b - c;
                if (disc < 0)
                    continue;
                double t = b - sqrt(disc);
                if (t > 0 && t < best)
                    best = t;
            }
            depth[y * W + x] = best;
        }
}
int main(void)
{
    sphere s[3] = {{0, 0, 5, 1}, {1, 0.5, 4, 0.5}, {-1, -0.4, 6, 1.2}};
    static double d[W * H];
    int hits = 0;
    trace(s, 3, d);
    for (int i = 0; i < W * H; i++) hits += d[i] < 1e8;
    printf("%d %.6f\n", hits, d[6 * W + 8]);
    return 0;
}
