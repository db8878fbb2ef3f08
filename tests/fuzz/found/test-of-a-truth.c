// flags: -O 1 --target emulator --device generic
// slow
// certificate
// A test whose value is compared, as a switch does it, says of its parts what it would say by itself.

#include <stdio.h>
#include <stdlib.h>

struct record { double w; };

static int B[133][135];

static void put(double *p, double v, int i)
{
    double t = *p;
    if (i % 2 == 0)
        t = v;
    else if (i == 3)
        return;
    *p = t;
}

static double f(int m, int w, double *restrict a, float c[restrict 2 * m + 1])
{
    double s = 1;
#pragma scop
    for (int i = 0; i < m; i++) {
        B[i + 2][2 * i] = (B[i + 2][2 * i] & 4095) + (B[2 * i][i] & 511) * (B[2 * i][3] & 63);
        for (int j = -1; j < m + 2; j++)
            B[j + 1][j + 3] = B[i][2 * j + 2] & 63;
        for (int j = 1; j < m; j++) {
            c[j + i] = 0.5f * c[j + i] + 0.25f * c[2 * i];
            switch (a[(j + i + 1) * w + j - 1] < (j + 2) && (j + 2) != 3)
            case 0: {
                continue;
            }
            put(&s, ((struct record){ .w = a[2 * j * w + i] > 0.5 ? B[j][j] : c[j + 1] }).w, j);
        }
    }
#pragma endscop
    return s;
}

int main(void)
{
    int m = 17, w = m + 1;
    double *a = malloc((2 * m + 1) * w * sizeof *a);
    float *c = malloc((2 * m + 1) * sizeof *c), sum = 0;
    for (int k = 0; k < (2 * m + 1) * w; k++)
        a[k] = k % 37 / 4.0;
    for (int k = 0; k < 2 * m + 1; k++)
        c[k] = k % 11 / 8.0f;
    for (int i = 0; i < 133; i++)
        for (int j = 0; j < 135; j++)
            B[i][j] = (3 * i + 5 * j) % 101;
    printf("%a\n", f(m, w, a, c));
    for (int k = 0; k < 2 * m + 1; k++)
        sum = sum * 0.99f + c[k];
    printf("%a\n", sum);
    free(a);
    free(c);
    return 0;
}
