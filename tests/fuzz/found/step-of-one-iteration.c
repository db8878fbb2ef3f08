// flags: -O 2 --target emulator --device generic
// slow
// traceback
// a step of one iteration of k_at, of which the nest in it has no dimension left
#include <math.h>
#include <stdio.h>
static float b[9][9];
static double blend(double a, double b) { return a < b ? 0.5 * a + 0.25 * b : 0.25 * a; }
double f(double a[restrict 9])
{
    unsigned char s0 = 1;
    int s1 = 1;
#pragma scop
    {
        int i = 1;
        while (i < 8) {
                int t0 = s1;
                for (int j = i + 1; j < 8; j += 3) {
                    {
                        int k = 3;
                        if (k > -1) do {
                                        for (int l = 9 - 1; l > -1; l -= 2) {
                                            unsigned int t1 = (t0 & 255) == (5);
                                            float t2 = 0.5f * t0 + 0.25f * t0 + 0.125f * (l + 2);
                                            double t3 = 0.5 * t1 + 0.25 * t1;
                                            s0 = ~(4);
                                            t1 = -(7);
                                            b[i][j] = t3;
                                            a[i] = -s1;
                                            s0 = (t1 & 63);
                                            t2 = blend(3, 3);
                                            s1 = ((l + 2) - 20) / 3;
                                            a[i] *= 0.5;
                                            b[i][j] -= 0.125f * (0.25f * s1 * s1);
                                            t0 = (i + 2);
                                            b[i][j] = 0.5f * 8 + 0.25f * t1;
                                            b[i][j] += 0.0625f * (0.5f * 8);
                                            t3 = 0.5 * 5 + 0.25 * 4;
                                            a[i] = 0.5 * 3 + 0.25 * (j + 2);
                                            a[i] = fmax(4, 0.5);
                                            a[i] = blend(s1, t3);
                                            a[i] = 0.5 * (l + 2);
                                            a[i] = 0.5 * a[i] + 0.5 * 4 + 0.25 * t2;
                                            s1 = (t1 & 255) + (t0 & 63);
                                            b[i][j] -= 0.125f * (0.5f * s1);
                                            b[i][j] += 0.0625f * (3 - t3);
                                            a[i] = -4;
                                            b[i][j] = blend((i + 2), 7);
                                            t0 = (2) / 3;
                                            a[i] += 0.0625 * (0.5 * (k + 2) + 0.25 * (l + 2) + 0.125 * (i + 2));
                                        }
                            k -= 2;
                        } while (k > -1);
                    }
                }
            i++;
        }
    }
#pragma endscop
    return 0.0 + s0 + s1;
}
int main(void)
{
    static double a[9];
    for (int k = 0; k < 9; k++)
        a[k] = k;
    double value = f(a);
    printf("%g", value);
    for (int k = 0; k < 81; k++)
        printf(" %g", b[k / 9][k % 9]);
    for (int k = 0; k < 9; k++)
        printf(" %g", a[k]);
    puts("");
    return 0;
}
