// device: main
#include <stdio.h>
int main(void)
{
    enum { N = 50 };
    static int c[N][8], o[N], p[N];
    int j = -1;
    for (int i = 0; i < N; i++) for (int k = 0; k < 8; k++) c[i][k] = (i * 7 + k * 5) % 11 - 1;
    for (int i = 0; i < N; i++) {
        int s = 0;
        for (int k = 0; k < 8; k++) { int j = c[i][k]; if (j < 0) break; s += j; }
        o[i] = s;
    }
    j = 3;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 8; k++) { int j = c[k][k] + k; p[i] += j; if (j > 7) break; p[i] *= 2; }
    for (int i = 0; i < N; i += 3) printf("%d %d\n", o[i], p[i]);
    return j - 3;
}
