// device: centre main
// flags: --reassociate
#include <stdio.h>
#include <stdlib.h>

typedef struct { double x, y, z, mass; } body;
typedef struct { double x, y, z; } vec3;
typedef struct { vec3 at; double mass, parts[4]; int heavy; } summary;

/* The sum of all bodies, and how many of them are heavy. */
static summary centre(const body *bodies, int n)
{
    summary s = {{0, 0, 0}, 0, {0}, 0};
    for (int i = 0; i < n; i++) {
        s.at.x += bodies[i].mass * bodies[i].x;
        s.at.y += bodies[i].mass * bodies[i].y;
        s.at.z += bodies[i].mass * bodies[i].z;
        s.mass += bodies[i].mass;
        s.parts[2] += 0.5;
        if (bodies[i].mass > 3)
            s.heavy++;
    }
    return s;
}

int main(void)
{
    int n = 2000;
    body *bodies = malloc(n * sizeof *bodies);
    for (int i = 0; i < n; i++) {
        bodies[i].x = i % 7;
        bodies[i].y = i % 11 - 5;
        bodies[i].z = i % 3;
        bodies[i].mass = 1 + i % 4;
    }
    summary s = centre(bodies, n);
    printf("%.3f %.3f %.3f %.3f %.1f %d\n", s.at.x, s.at.y, s.at.z, s.mass, s.parts[2], s.heavy);
    free(bodies);
    return 0;
}
