// device:
#include <stdio.h>
int score[33][33], ref[33][33];
static int maximum(int a, int b, int c) { int k = a <= b ? b : a; return k <= c ? c : k; }
void align(int n, int penalty)
{
    for (int i = 1; i < n; i++)
        for (int j = 1; j < n; j++)
            score[i][j] = maximum(score[i - 1][j - 1] + ref[i][j], score[i][j - 1] - penalty, score[i - 1][j] - penalty);
}
int main(void)
{
    for (int i = 0; i < 33; i++) { score[i][0] = -10 * i; score[0][i] = -10 * i; for (int j = 0; j < 33; j++) ref[i][j] = (i * j) % 9 - 3; }
    align(33, 10);
    printf("%d %d\n", score[32][32], score[10][20]);
    return 0;
}
