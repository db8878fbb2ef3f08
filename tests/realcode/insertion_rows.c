// device: sort_rows
#include <stdio.h>
void sort_rows(int n, int a[n][8])
{
    for (int i = 0; i < n; i++)
        for (int j = 1; j < 8; j++) {
            int v = a[i][j], k = j;
            while (k > 0 && a[i][k - 1] > v) {
                a[i][k] = a[i][k - 1];
                k--;
            }
            a[i][k] = v;
        }
}
int main(void)
{
    static int a[35][8];
    for (int i = 0; i < 35; i++) for (int j = 0; j < 8; j++) a[i][j] = (i * 7 + j * 13) % 19;
    sort_rows(35, a);
    for (int i = 0; i < 35; i += 6) printf("%d %d %d\n", a[i][0], a[i][4], a[i][7]);
    return 0;
}
