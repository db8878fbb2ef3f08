// device: histogram scale
#include <stdio.h>

static int count(int n, const int *a, int x)
{
    int k = 0, i = 0;
    while (i < n) {
        if (a[i] == x) k++;
        i++;
    }
    return k;
}

static void halve(int n, float *b)
{
    int i = n;
    do {
        i--;
        b[i] *= 0.5f;
    } while (i > 0);
}

static void histogram(int n, int m, const int *a, int *h)
{
    for (int i = 0; i < m; i++) h[i] = count(n, a, i);
}

static void scale(int m, float *q)
{
    for (int i = 0; i < m; i++) halve(16, q + 16 * i);
}

int main(void)
{
    int a[500], h[7];
    float q[16 * 5];
    for (int i = 0; i < 500; i++) a[i] = i * i % 7;
    for (int i = 0; i < 80; i++) q[i] = i;
    histogram(500, 7, a, h);
    scale(5, q);
    for (int i = 0; i < 7; i++) printf("%d\n", h[i]);
    for (int i = 0; i < 80; i++) printf("%g\n", q[i]);
    return 0;
}
