// flags: -O 1 --target emulator --device h100
// slow
// certificate
// Of the last row of a three elements are there, and more were copied: what data decide about was taken to be read.
#include <stdio.h>
#include <stdlib.h>

static int f(int n, int m, int a[][n + 2], const int at[restrict m])
{
    int s = 1;
#pragma scop
    for (int i = 0; i < m; i++)
        for (int k = 0; k < m; k += 3)
            s = s % 7 + at[k] > 9 ? a[i][k + 2] : at[i];
#pragma endscop
    return s;
}

int main(void)
{
    enum { n = 1, m = 4 };
    int (*a)[n + 2] = malloc(m * sizeof *a), at[m] = { 10, 11, 2, 1 };
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n + 2; j++)
            a[i][j] = 3 * i + j;
    printf("%d\n", f(n, m, a, at));
    free(a);
    return 0;
}
