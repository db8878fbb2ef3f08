// device: init
#include <stdio.h>
#define N 20
double a[N][N][N];
void init(void)
{
#pragma omp parallel for collapse(3)
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                a[i][j][k] = i + 10.0 * j + 100.0 * k;
}
int main(void)
{
    init();
    printf("%g %g\n", a[1][2][3], a[19][19][19]);
    return 0;
}
