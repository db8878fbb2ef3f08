// device: forces kick place energy
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#define DIM 3
typedef struct { double at[DIM], speed[DIM], force[DIM]; double mass; int fixed; } Body;
typedef struct { float turn[3][3]; float shift[3]; } Frame;
static double dot(const double *a, const double *b)
{
    double sum = 0;
    for (int d = 0; d < DIM; d++) sum += a[d] * b[d];
    return sum;
}
void forces(Body *bodies, int count)
{
    for (int i = 0; i < count; i++) {
        for (int d = 0; d < DIM; d++) bodies[i].force[d] = 0;
        for (int j = 0; j < count; j++) {
            if (i == j) continue;
            double away[DIM], square = 0.01;
            for (int d = 0; d < DIM; d++) {
                away[d] = bodies[j].at[d] - bodies[i].at[d];
                square += away[d] * away[d];
            }
            for (int d = 0; d < DIM; d++)
                bodies[i].force[d] += bodies[j].mass * away[d] / (square * sqrt(square));
        }
    }
}
void kick(Body *bodies, int count, double dt)
{
    int i, d;
    for (i = 0; i < count; i++) {
        if (bodies[i].fixed) continue;
        for (d = 0; d < DIM; d++) {
            bodies[i].speed[d] += dt * bodies[i].force[d];
            bodies[i].at[d] += dt * bodies[i].speed[d];
        }
    }
}
void place(const Frame *frames, float (*from)[3], float (*to)[3], int count)
{
    for (int i = 0; i < count; i++)
        for (size_t r = 0; r < 3; r++) {
            float sum = frames[i].shift[r];
            for (size_t c = 0; c < 3; c++) sum += frames[i].turn[r][c] * from[i][c];
            to[i][r] = sum;
        }
}
void energy(const Body *bodies, int count, double *out)
{
    for (int i = 0; i < count; i++)
        out[i] = 0.5 * bodies[i].mass * dot(bodies[i].speed, bodies[i].speed);
}
int main(void)
{
    int n = 60;
    Body *bodies = calloc(n, sizeof *bodies);
    Frame *frames = calloc(n, sizeof *frames);
    float (*from)[3] = calloc(n, sizeof *from), (*to)[3] = calloc(n, sizeof *to);
    double *e = calloc(n, sizeof *e);
    for (int i = 0; i < n; i++) {
        bodies[i].mass = 1 + i % 3;
        bodies[i].fixed = i % 7 == 3;
        for (int d = 0; d < DIM; d++) {
            bodies[i].at[d] = i * (d + 1) % 17;
            from[i][d] = i - d;
            frames[i].shift[d] = d;
            frames[i].turn[d][2 - d] = 0.5f * i;
        }
    }
    for (int t = 0; t < 3; t++) { forces(bodies, n); kick(bodies, n, 0.01); }
    place(frames, from, to, n);
    energy(bodies, n, e);
    for (int i = 0; i < n; i++) printf("%.9g %.9g %.9g %.9g\n", bodies[i].at[0], bodies[i].speed[2], e[i], to[i][1]);
    return 0;
}
