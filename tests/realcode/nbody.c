// device: forces
#include <stdio.h>
#include <math.h>
typedef struct { float x, y, z, m; } Body;
typedef struct { float x, y, z; } Vec;
void forces(int n, const Body *restrict b, Vec *restrict f)
{
    for (int i = 0; i < n; i++) {
        float fx = 0, fy = 0, fz = 0;
        for (int j = 0; j < n; j++) {
            float dx = b[j].x - b[i].x, dy = b[j].y - b[i].y, dz = b[j].z - b[i].z;
            float d2 = dx * dx + dy * dy + dz * dz + 0.01f;
            float inv = 1.0f / (d2 * sqrtf(d2));
            fx += b[j].m * inv * dx;
            fy += b[j].m * inv * dy;
            fz += b[j].m * inv * dz;
        }
        f[i].x = fx;
        f[i].y = fy;
        f[i].z = fz;
    }
}
int main(void)
{
    static Body b[100];
    static Vec f[100];
    for (int i = 0; i < 100; i++) { b[i].x = i % 10; b[i].y = i / 10; b[i].z = (i * 7) % 5; b[i].m = 1 + i % 3; }
    forces(100, b, f);
    for (int i = 0; i < 100; i += 9) printf("%.7g %.7g %.7g\n", f[i].x, f[i].y, f[i].z);
    return 0;
}
