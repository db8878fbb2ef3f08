// flags: --device h100
// memset and memcpy are loops over elements.
#include <string.h>

void rows(int n, int m, double a[restrict n][m], double b[restrict n][m])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        memcpy(a[i], b[i], m * sizeof(double));
        memset(b[i], 0, m * sizeof b[0][0]);
    }
#pragma endscop
}
