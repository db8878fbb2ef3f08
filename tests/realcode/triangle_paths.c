// device: collapse
#include <stdio.h>
#include <stdlib.h>
int collapse(int **tri, int n)
{
    for (int row = n - 2; row >= 0; row--)
        for (int col = 0; col <= row; col++) {
            int l = tri[row + 1][col], r = tri[row + 1][col + 1];
            tri[row][col] += l > r ? l : r;
        }
    return tri[0][0];
}
int main(void)
{
    int n = 15, **t = malloc(n * sizeof *t);
    for (int i = 0; i < n; i++) {
        t[i] = malloc((i + 1) * sizeof **t);
        for (int j = 0; j <= i; j++)
            t[i][j] = (i * 17 + j * 29) % 31;
    }
    printf("%d\n", collapse(t, n));
    return 0;
}
