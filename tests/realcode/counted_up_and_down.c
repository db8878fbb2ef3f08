// device: main
#include <stdio.h>
int main(void)
{
    static int parent[100], out[100];
    for (int i = 0; i < 100; i++) parent[i] = i / 2;
    for (int i = 0; i < 100; i++) {
        int h[4] = {0}, top = 0;
        int k = i;
        while (k > 0 && top < 32) { h[k & 3]++; top++; k = parent[k]; }
        int s = h[1];
        while (top > 0) { s = s * 3 + h[top & 3]; top--; }
        out[i] = s;
    }
    for (int i = 0; i < 100; i += 7) printf("%d\n", out[i]);
    return 0;
}
