// device: forces moves energies rows
// with: beside/particles.c
#include <stdio.h>
#include "beside/particles.h"

#define N 50

static particle all[N];
static vec force[N];
static double e[N], row[N][3], right[N][3];

static void forces(void)
{
    for (int i = 0; i < N; i++) {
        double fx = 0, fy = 0;
        for (int j = 0; j < N; j++) {
            vec f = pull(&all[i], &all[j]);
            fx += f.x;
            fy += f.y;
        }
        force[i].x = fx;
        force[i].y = fy;
    }
}

static void moves(double dt)
{
    for (int i = 0; i < N; i++)
        advance(&all[i], force[i], dt);
}

static void energies(void)
{
    for (int i = 0; i < N; i++)
        e[i] = energy(all[i]);
}

static void rows(void)
{
    for (int i = 0; i < N; i++)
        relax(row[i], right[i]);
}

int main(void)
{
    for (int i = 0; i < N; i++) {
        all[i] = (particle){{i % 7, i / 7}, {0, i * 0.1}, 1 + i % 3};
        for (int k = 0; k < 3; k++) {
            row[i][k] = i;
            right[i][k] = i * k + 1;
        }
    }
    gravity = 0.25;
    for (int t = 0; t < 3; t++) {
        forces();
        moves(0.01);
        rows();
    }
    energies();
    for (int i = 0; i < N; i++)
        printf("%.12g %.12g %.12g %.12g %.12g\n", all[i].at.x, all[i].at.y, e[i], row[i][0], row[i][2]);
    return 0;
}
