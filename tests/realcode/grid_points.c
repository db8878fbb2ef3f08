// device: add
#include <stdio.h>
double u[12][12][12][5], rhs[12][12][12][5];
int grid_points[3] = {12, 12, 12};
static void add(void)
{
    int i, j, k, m;
    for (k = 1; k <= grid_points[2] - 2; k++)
        for (j = 1; j <= grid_points[1] - 2; j++)
            for (i = 1; i <= grid_points[0] - 2; i++)
                for (m = 0; m < 5; m++)
                    u[k][j][i][m] = u[k][j][i][m] + rhs[k][j][i][m];
}
int main(void)
{
    for (int k = 0; k < 12; k++) for (int j = 0; j < 12; j++) for (int i = 0; i < 12; i++) for (int m = 0; m < 5; m++) rhs[k][j][i][m] = k + j * i - m;
    add();
    add();
    printf("%g %g\n", u[5][5][5][2], u[10][10][10][4]);
    return 0;
}
