// device: mirror smooth
#include <stdio.h>

struct sizes { int nx, ny; };

void mirror(const struct sizes *s, float *out)
{
    float line[s->nx];
    for (int i = 0; i < s->nx; i++)
        line[i] = out[i];
    for (int i = 0; i < s->nx; i++)
        out[i] = line[s->nx - 1 - i];
}

void smooth(struct sizes s, const int *counts, double *out)
{
    double line[s.nx + counts[1]];
    for (int i = 0; i < s.nx + 2; i++)
        line[i] = out[i] + i;
    for (int i = 1; i < s.nx + 1; i++)
        out[i] = 0.25 * line[i - 1] + 0.5 * line[i] + 0.25 * line[i + 1];
}

int main(void)
{
    struct sizes s = {90, 3};
    int counts[2] = {1, 2};
    float x[90];
    double y[92];
    for (int i = 0; i < 92; i++) {
        if (i < 90)
            x[i] = i * i % 17;
        y[i] = i * 0.5;
    }
    mirror(&s, x);
    smooth(s, counts, y);
    for (int i = 0; i < 90; i += 11)
        printf("%g %g\n", x[i], y[i]);
    return 0;
}
