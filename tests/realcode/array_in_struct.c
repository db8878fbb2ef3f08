// device: advance
#include <stdio.h>
#define N 20
typedef struct { double t; double u[N][N], v[N][N]; } Field;
void advance(Field *f, double dt)
{
    for (int i = 1; i < N - 1; i++)
        for (int j = 1; j < N - 1; j++)
            f->v[i][j] = f->u[i][j] + dt * (f->u[i + 1][j] - 2 * f->u[i][j] + f->u[i - 1][j]);
    f->t += dt;
}
int main(void)
{
    static Field f;
    for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) f.u[i][j] = i * i + j;
    advance(&f, 0.1);
    printf("%g %g %g\n", f.t, f.v[3][4], f.v[18][18]);
    return 0;
}
