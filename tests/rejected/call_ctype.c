#include <ctype.h>

void f(int n, const char *s, int *h)
{
#pragma scop
    for (int i = 0; i < n; i++)
        h[i] = isupper((unsigned char)s[i]) ? 1 : 0;
#pragma endscop
}
