// device: fields
#include <stdio.h>
#define X 30
#define Y 26
float ez[X][Y], hx[X][Y], hy[X][Y];
void fields(int steps)
{
    int t, i, j;
    for (t = 0; t < steps; t++) {
        for (i = 1; i < X; i++)
            for (j = 1; j < Y; j++)
                ez[i][j] += 0.5f * (hy[i][j] - hy[i - 1][j] - hx[i][j] + hx[i][j - 1]);
        ez[X / 2][Y / 2] = t * 0.1f;
        for (i = 0; i < X - 1; i++)
            for (j = 0; j < Y - 1; j++) {
                hx[i][j] -= 0.5f * (ez[i][j + 1] - ez[i][j]);
                hy[i][j] += 0.5f * (ez[i + 1][j] - ez[i][j]);
            }
    }
}
int main(void)
{
    fields(10);
    for (int i = 0; i < X; i += 4) printf("%g %g %g\n", ez[i][12], hx[i][12], hy[i][12]);
    return 0;
}
