// device: shift
#include <stdio.h>
#include <string.h>
void shift(char *text, int len, int key)
{
    int i;
    for (i = 0; i < len; i++) {
        char c = text[i];
        if (c >= 'a' && c <= 'z')
            text[i] = (c - 'a' + key) % 26 + 'a';
        else if (c >= 'A' && c <= 'Z')
            text[i] = (c - 'A' + key) % 26 + 'A';
    }
}
int main(void)
{
    char t[] = "Attack at Dawn! Zebras are fine.";
    shift(t, (int)strlen(t), 3);
    printf("%s\n", t);
    shift(t, (int)strlen(t), 23);
    printf("%s\n", t);
    return 0;
}
