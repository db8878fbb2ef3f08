// device: upper
#include <stdio.h>
#include <string.h>
void upper(char *s, size_t len)
{
    char *end = s + len;
    for (char *p = s; p != end; ++p)
        if (*p >= 'a' && *p <= 'z')
            *p = *p - 'a' + 'A';
}
int main(void)
{
    char text[] = "the quick brown fox jumps over the lazy dog, 1234 times; Done.";
    upper(text, strlen(text));
    puts(text);
    return 0;
}
