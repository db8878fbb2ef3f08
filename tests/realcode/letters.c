// device: vowels levels
#include <stdio.h>
#include <string.h>
/* what stands behind a loop over a `switch`, without braces, is not of the loop */
static int vowels(const char *text, int length)
{
    int count = 0;
    for (int i = 0; i < length; i++)
        switch (text[i]) {
        case 'a': case 'e': case 'i': case 'o': case 'u': count++;
        }
    return count;
}
static int levels(const int *from, int *to, int count)
{
    int i, shift = 3;
    for (i = 0; i < count; i++)
        each: switch (from[i] & 3) {
        case 0: to[i] = 0; break;
        case 1: case 2: to[i] = from[i] << shift; break;
        default: to[i] = -1;
        }
    shift += to[0];
    return shift;
}
int main(void)
{
    const char *text = "the quick brown fox jumps over the lazy dog and runs away";
    int from[50], to[50];
    for (int i = 0; i < 50; i++) from[i] = 49 - i;
    printf("%d %d\n", vowels(text, (int)strlen(text)), levels(from, to, 50));
    for (int i = 0; i < 50; i++) printf("%d ", to[i]);
    printf("\n");
    return 0;
}
