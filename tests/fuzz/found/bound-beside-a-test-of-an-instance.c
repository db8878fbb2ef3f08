// flags: -O 1 --target emulator --device gtx285
// certificate
// The kernel tests `i < 17` and what the source tests in one: as a whole that is the source's test for all of
// its instances, and was taken to say nothing of threads beyond them.

#include <math.h>
#include <stdio.h>

static struct { int unused; double A[18][35]; } G;
static double B[17][49];

static void f(double B[restrict 17][49])
{
#pragma scop
    for (int i = 16; i >= 0; i--) {
        switch (i > 16u - 2) case 0: {
            continue;
        }
        B[1][i] += 0.0625 * sqrt(fabs(G.A[i + 1][i + 2]));
    }
#pragma endscop
}

int main(void)
{
    for (int i = 0; i < 18; i++)
        for (int j = 0; j < 35; j++)
            G.A[i][j] = (i * 31 + j * 17) % 101 - 50;
    f(B);
    for (int i = 0; i < 17; i++)
        for (int j = 0; j < 49; j++)
            printf("%a\n", B[i][j]);
    return 0;
}
