// device: shift
#include <stdio.h>
#include <string.h>
#define P 8
#define C 30
double ring[P][C];
void shift(const double *fresh)
{
    for (int p = P - 1; p > 0; p--)
        memcpy(ring[p], ring[p - 1], sizeof ring[0]);
    for (int c = 0; c < C; c++)
        ring[0][c] = fresh[c];
}
int main(void)
{
    double f[C];
    for (int t = 0; t < 4; t++) {
        for (int c = 0; c < C; c++) f[c] = t * 100 + c;
        shift(f);
    }
    printf("%g %g %g\n", ring[0][5], ring[2][7], ring[3][29]);
    return 0;
}
