#include <stdlib.h>

void f(int n, float *restrict a, volatile int *flag, const int *restrict to)
{
    for (int i = 0; i < n; i *= 2) {
        a[i] = rand();
        a[i] = rand();
        *flag = 1;
        a[i] = sizeof a;
        a[n++] = 1;
        do
            a[i] = 1;
        while (n-- > 0);
        switch (n) {
        }
        return;
    }
    for (int i = 0; i < n; i++) {
        a[to[i]] = 1;
        a[i * i] = 1;
    }
}
