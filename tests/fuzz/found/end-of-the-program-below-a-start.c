// flags: -O 2 --target emulator --device gtx285
// traceback
// ValueError: i@ is neither an iterator nor a parameter
#include <stdio.h>
#include <stdlib.h>

static void f(int m, float x[restrict 40][8], int most)
{
    int i = m + 1;
    while (i >= 0) {
        for (int t = 0; t < 5; t++) {
            if (t > most)
                exit(3);
            x[i][t] += 1;
        }
        i--;
    }
}

static float x[40][8];

int main(int argc, char **argv)
{
    f(20, x, 7);
    f(-2, x, 0);
    fflush(stdout);
    if (argc > 1) f(20, x, 3);
    printf("%g %g\n", x[21][4], x[22][0]);
    return 0;
}
