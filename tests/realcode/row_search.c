// device: search
#include <stdio.h>
void search(int n, int m, const int a[n][m], int key, int at[n])
{
    for (int i = 0; i < n; i++) {
        at[i] = -1;
        for (int j = 0; j < m; j++)
            if (a[i][j] == key) {
                at[i] = j;
                break;
            }
    }
}
int main(void)
{
    static int a[40][15];
    int at[40];
    for (int i = 0; i < 40; i++) for (int j = 0; j < 15; j++) a[i][j] = (i * 5 + j * 3) % 17;
    search(40, 15, a, 4, at);
    for (int i = 0; i < 40; i++) printf("%d ", at[i]);
    printf("\n");
    return 0;
}
