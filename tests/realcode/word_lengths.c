// device: starts
#include <stdio.h>
#include <string.h>
static int is_letter(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
void starts(const char *s, int n, unsigned char *mark)
{
    mark[0] = is_letter(s[0]);
    for (int i = 1; i < n; i++)
        mark[i] = is_letter(s[i]) && !is_letter(s[i - 1]);
}
int main(void)
{
    const char *s = "It was the best of times, it was the worst of times; it was (the) age of wisdom...";
    unsigned char m[128];
    int n = (int)strlen(s), words = 0;
    starts(s, n, m);
    for (int i = 0; i < n; i++) words += m[i];
    printf("%d\n", words);
    return 0;
}
