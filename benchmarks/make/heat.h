#ifndef HEAT_H
#define HEAT_H

#define CONDUCTIVITY 0.125f

/* `steps` time steps of heat conduction in a plate of n x n points whose border keeps its temperature. */
void heat(int steps, int n, float now[restrict n][n], float next[restrict n][n]);

#endif
