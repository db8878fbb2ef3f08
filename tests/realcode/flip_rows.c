// device: flip
#include <stdio.h>
void flip(int n, int m, int a[n][m])
{
    for (int i = 0; i < n; i++)
        for (int l = 0, r = m - 1; l < r; l++, r--) {
            int t = a[i][l];
            a[i][l] = a[i][r];
            a[i][r] = t;
        }
}
int main(void)
{
    int a[12][19];
    for (int i = 0; i < 12; i++) for (int j = 0; j < 19; j++) a[i][j] = i * 100 + j;
    flip(12, 19, a);
    for (int i = 0; i < 12; i++) printf("%d %d %d\n", a[i][0], a[i][9], a[i][18]);
    return 0;
}
