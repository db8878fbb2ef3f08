// device: density
#include <stdio.h>
#include <math.h>
struct particle { float x, y, rho, p; };
void density(struct particle *p, int n, float h)
{
    for (int i = 0; i < n; i++) {
        float rho = 0;
        for (int j = 0; j < n; j++) {
            float dx = p[i].x - p[j].x, dy = p[i].y - p[j].y;
            float q = h * h - dx * dx - dy * dy;
            if (q > 0)
                rho += q * q * q;
        }
        p[i].rho = rho;
        p[i].p = fmaxf(0.0f, 2.0f * (rho - 1.0f));
    }
}
int main(void)
{
    static struct particle p[90];
    for (int i = 0; i < 90; i++) { p[i].x = (i % 10) * 0.3f; p[i].y = (i / 10) * 0.3f; }
    density(p, 90, 1.0f);
    for (int i = 0; i < 90; i += 8) printf("%g %g\n", p[i].rho, p[i].p);
    return 0;
}
