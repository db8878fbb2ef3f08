// device:
#include <stdio.h>
#include <string.h>
static int table[64][64];
int lcs(const char *a, int n, const char *b, int m)
{
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++)
            if (a[i - 1] == b[j - 1]) table[i][j] = table[i - 1][j - 1] + 1;
            else table[i][j] = table[i - 1][j] > table[i][j - 1] ? table[i - 1][j] : table[i][j - 1];
    return table[n][m];
}
int main(void)
{
    const char *a = "the quick brown fox jumps over the lazy dog", *b = "a lazy dog is jumped over by a brown quick fox";
    printf("%d\n", lcs(a, strlen(a), b, strlen(b)));
    return 0;
}
