// device: gcds
#include <stdio.h>
static int gcd(int a, int b) { while (b) { int t = a % b; a = b; b = t; } return a; }
void gcds(int n, const int *a, const int *b, int *g) { for (int i = 0; i < n; i++) g[i] = gcd(a[i], b[i]); }
int main(void)
{
    int a[80], b[80], g[80], s = 0;
    for (int i = 0; i < 80; i++) { a[i] = i * 12 + 18; b[i] = i * 8 + 30; }
    gcds(80, a, b, g);
    for (int i = 0; i < 80; i++) s += g[i];
    printf("%d\n", s);
    return 0;
}
