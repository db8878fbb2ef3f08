// device: count
#include <stdio.h>
int count(int n, const char *s, char c)
{
    int k = 0;
    for (int i = 0; i < n; i++)
        if (s[i] == c)
            k++;
    return k;
}
int main(void)
{
    static char s[3000];
    for (int i = 0; i < 3000; i++) s[i] = 'a' + (i * i) % 26;
    printf("%d %d\n", count(3000, s, 'a'), count(3000, s, 'e'));
    return 0;
}
