// device: main
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int n = 20, m = 8;
    if (argc > 1)
        n = atoi(argv[1]);
    sscanf("31", "%d", &m);
    double a[n][m];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            a[i][j] = 3 * i + j;
    for (int i = 1; i < n; i++)
        for (int j = 0; j < m; j++)
            a[0][j] += a[i][j];
    printf("%g %g\n", a[n - 1][0], a[0][m - 1]);
    n = 3;
    for (int i = 0; i < n; i++)
        printf("%g\n", a[i][i]);
    return 0;
}
