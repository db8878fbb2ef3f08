// flags: -O 1 --target emulator --device 8800gtx
// differs
// a function that opens a scope and calls itself: the scope ended within what its pause ends with, so that it
// stayed open, and what kernels had stored did not come back
#include <stdio.h>
#include <stdlib.h>
static long used;
static long down(int m, int rank, const long *extents)
{
    long k, row = 1;
    used += extents[0];
    for (k = 1; k < rank; k++)
        row *= extents[k];
    for (k = 0; k < extents[0]; k++)
        row += rank > 2 ? down(m, rank - 1, extents + 1) : 1;
    return row;
}
static void steps(int m, int n, int *a)
{
    for (int t = 0; t < m; t++) {
        if (t > 5000)
            puts("far");
        a[t] = 0;
        for (int i = 0; i < n; i++)
            a[i] += i * t;
    }
}
int main(void)
{
    const long extents[] = {2, 2, 3};
    int n = 1000;
    int *a = malloc(n * sizeof *a);
    for (int i = 0; i < n; i++)
        a[i] = i;
    long row = down(5, 3, extents);
    steps(5, n, a);
    printf("%ld %d %d\n", row, a[3], a[999]);
    free(a);
    return 0;
}
