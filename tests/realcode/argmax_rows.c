// device: argmax
#include <stdio.h>
void argmax(int n, int m, const float p[n][m], int best[n])
{
    for (int i = 0; i < n; i++) {
        int k = 0;
        for (int j = 1; j < m; j++)
            if (p[i][j] > p[i][k])
                k = j;
        best[i] = k;
    }
}
int main(void)
{
    static float p[70][11];
    int best[70];
    for (int i = 0; i < 70; i++) for (int j = 0; j < 11; j++) p[i][j] = (i * 5 + j * 7) % 11;
    argmax(70, 11, p, best);
    for (int i = 0; i < 70; i += 3) printf("%d ", best[i]);
    printf("\n");
    return 0;
}
