// device: filter
#include <stdio.h>
#define CH 40
#define LEN 30
void filter(float x[LEN][CH], float y[LEN][CH], float a, float b)
{
    int c, t;
    for (c = 0; c < CH; c++) {
        y[0][c] = b * x[0][c];
        for (t = 1; t < LEN; t++)
            y[t][c] = b * x[t][c] + a * y[t - 1][c];
    }
}
int main(void)
{
    static float x[LEN][CH], y[LEN][CH];
    for (int t = 0; t < LEN; t++) for (int c = 0; c < CH; c++) x[t][c] = (t * c) % 8;
    filter(x, y, 0.5f, 0.5f);
    for (int c = 0; c < CH; c += 7) printf("%g\n", y[LEN - 1][c]);
    return 0;
}
