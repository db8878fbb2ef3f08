// device: fluxes deposit
// flags: --reassociate
#include <stdio.h>
#define NODES 300
#define EDGES 900
#define PARTICLES 2000

static int ends[EDGES][2], cell[PARTICLES];
static float value[NODES], residual[NODES], weight[EDGES], at[PARTICLES], charge[NODES + 1];

static void fluxes(void)
{
    for (int e = 0; e < EDGES; e++) {
        int from = ends[e][0], to = ends[e][1];
        float flux = weight[e] * (value[to] - value[from]);
        if (flux > 40)
            flux = 40;
        residual[from] += flux;
        residual[to] -= flux;
    }
}

static void deposit(void)
{
    for (int p = 0; p < PARTICLES; p++) {
        charge[cell[p]] += 1 - at[p];
        charge[cell[p] + 1] += at[p];
    }
}

int main(void)
{
    for (int k = 0; k < NODES; k++)
        value[k] = k * 37 % 64;
    for (int k = 0; k < EDGES; k++) {
        ends[k][0] = k * 7919 % NODES;
        ends[k][1] = (k * 31 + 5) % NODES;
        weight[k] = (1 + k % 4) / 4.0f;
    }
    for (int k = 0; k < PARTICLES; k++) {
        cell[k] = k * 104729 % NODES;
        at[k] = k % 8 / 8.0f;
    }
    fluxes();
    deposit();
    for (int k = 0; k < NODES; k++)
        printf("%g %g\n", residual[k], charge[k]);
    return 0;
}
