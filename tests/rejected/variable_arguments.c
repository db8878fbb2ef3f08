#include <stdarg.h>

void f(int n, int *a, ...)
{
    va_list list;
    va_start(list, a);
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = va_arg(list, int);
#pragma endscop
    va_end(list);
}
