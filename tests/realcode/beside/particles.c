#include "particles.h"
#include <math.h>

typedef unsigned int word;
double gravity = 0.5;

static double squared(double x, double y)
{
    return x * x + y * y;
}

vec pull(const particle *on, const particle *by)
{
    vec force = {0, 0};
    double dx = by->at.x - on->at.x, dy = by->at.y - on->at.y, d = squared(dx, dy) + 0.01;
    force.x = gravity * by->mass * dx / (d * sqrt(d));
    force.y = gravity * by->mass * dy / (d * sqrt(d));
    return force;
}

double energy(particle p)
{
    word slow = p.mass > 2;
    return 0.5 * p.mass * squared(p.speed.x, p.speed.y) + slow;
}

void advance(particle *p, vec force, double dt)
{
    p->speed.x += force.x * dt;
    p->speed.y += force.y * dt;
    p->at.x += p->speed.x * dt;
    p->at.y += p->speed.y * dt;
}

void relax(double row[3], const double right[3])
{
    double pivot = 1 / (2 + row[0]);
    row[0] = right[0] * pivot;
    for (int k = 1; k < 3; k++)
        row[k] = (right[k] - row[k - 1]) * pivot;
}
