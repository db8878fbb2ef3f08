#include "heat.h"

#include <stdio.h>

enum { N = 200, STEPS = 20 };

static float now[N][N], next[N][N];

int main(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            now[i][j] = next[i][j] = (float)((7 * i + 13 * j) % 17) / 17;
    heat(STEPS, N, now, next);
    for (int i = 0; i < N; i += 20)
        printf("%.9g\n", now[i][N / 2]);
    return 0;
}
