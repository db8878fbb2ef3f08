// device: table
#include <stdio.h>
#include <string.h>
#define MAX 64
static int d[MAX + 1][MAX + 1];
int table(const char *s, int n, const char *t, int m)
{
    int i, j;
    for (i = 0; i <= n; i++)
        d[i][0] = i;
    for (j = 0; j <= m; j++)
        d[0][j] = j;
    for (i = 1; i <= n; i++)
        for (j = 1; j <= m; j++) {
            int cost = s[i - 1] == t[j - 1] ? 0 : 1;
            int a = d[i - 1][j] + 1, b = d[i][j - 1] + 1, c = d[i - 1][j - 1] + cost;
            int min = a < b ? a : b;
            d[i][j] = min < c ? min : c;
        }
    return d[n][m];
}
int main(void)
{
    const char *a = "intentionally different", *b = "execution is indifferent";
    printf("%d\n", table(a, (int)strlen(a), b, (int)strlen(b)));
    return 0;
}
