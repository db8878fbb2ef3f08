// device: step shade
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
typedef struct { double x, y, z; } vec3;
typedef struct { vec3 at, speed; double mass; int alive; } Particle;
typedef struct { vec3 from, way; float light[2]; } Ray;
static vec3 add(vec3 a, vec3 b) { return (vec3){ a.x + b.x, a.y + b.y, a.z + b.z }; }
static vec3 scale(vec3 a, double s)
{
    vec3 r = { a.x * s, a.y * s, a.z * s };
    return r;
}
static double dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
void step(Particle *all, int count, double dt)
{
    const vec3 gravity = { .y = -9.8 };
    for (int i = 0; i < count; i++) {
        if (!all[i].alive) continue;
        all[i].speed = add(all[i].speed, scale(gravity, dt));
        all[i].at = add(all[i].at, scale(all[i].speed, dt));
        if (all[i].at.y < 0) {
            vec3 old = all[i].at;
            old = (vec3){ old.z, -old.y, old.x };
            all[i].at = old;
            all[i].speed.y *= -0.9;
        }
    }
}
/* mirrors the rays that point away, and sums up the light of the others */
void shade(Ray *rays, double *seen, int count)
{
    for (int i = 0; i < count; i++) {
        double d = dot(rays[i].way, rays[i].from);
        if (d > 0) {
            Ray r = rays[i];
            r.way = scale(r.way, -1 / sqrt(1 + d));
            r.light[1] += r.light[0];
            rays[i] = r;
        }
        seen[i] = rays[i].light[1] + rays[i].way.z;
    }
}
int main(void)
{
    int n = 150;
    Particle *all = calloc(n, sizeof *all);
    Ray *rays = calloc(n, sizeof *rays);
    double *seen = calloc(n, sizeof *seen);
    for (int i = 0; i < n; i++) {
        all[i].alive = i % 5 != 0;
        all[i].at.y = i % 10;
        all[i].speed.x = i * 0.1;
        rays[i].way.z = i % 9 - 4;
        rays[i].from.z = i % 4 - 1;
        rays[i].light[0] = i;
        rays[i].light[1] = 0.5f;
    }
    for (int t = 0; t < 20; t++) step(all, n, 0.05);
    shade(rays, seen, n);
    for (int i = 0; i < n; i++) printf("%.9g %.9g %.9g %.9g\n", all[i].at.x, all[i].at.y, all[i].speed.y, seen[i]);
    return 0;
}
