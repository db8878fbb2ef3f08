// device: sums
#include <stdio.h>
void sums(int n, const int first[n + 1], const float values[2048], const int active[n], float sum[n])
{
rows:
    for (int i = 0; i < n; i++) {
        float s = 0;
        if (active[i]) {
        within_row:
            for (int k = first[i]; k < first[i + 1]; k++) {
            negative:
                if (values[k] < 0)
                    continue;
            large:
                if (values[k] > 90)
                    break;
            add:
                s += values[k];
            }
        }
        sum[i] = s;
    }
}
int main(void)
{
    static float values[2048], sum[200];
    static int first[201], active[200];
    for (int k = 0; k < 2048; k++)
        values[k] = k * 37 % 101 - 7;
    for (int i = 0; i < 200; i++) {
        first[i + 1] = first[i] + i % 9;
        active[i] = i % 5 != 3;
    }
    sums(200, first, values, active, sum);
    for (int i = 0; i < 200; i += 7)
        printf("%g ", sum[i]);
    printf("\n");
    return 0;
}
