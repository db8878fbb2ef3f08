// device: depths collect
#include <stdio.h>
static int parent[100], out[100], first[100];
static float a[160], d[100];
void depths(int n)
{
    for (int i = 0; i < n; i++) {
        int stack[32], top = 0;
        int k = i;
        while (k > 0 && top < 32) {
            stack[top++] = k;
            k = parent[k];
        }
        int s = 0;
        while (top > 0)
            s = s * 3 + stack[--top];
        out[i] = s;
    }
}
void collect(int n)
{
    for (int i = 0; i < n; i++) {
        float seen[16];
        int count = 0, k = i;
        while (k < i + 40 && count < 16) {
            if (a[k] > 5)
                seen[count++] = a[k];
            k += 1 + (a[k] > 12);
        }
        float s = 0;
        for (int j = 0; j < 16; j++)
            if (j < count)
                s = s * 0.5f + seen[j];
        d[i] = s;
    }
}
int main(void)
{
    for (int i = 0; i < 100; i++) parent[i] = i / 2;
    for (int i = 0; i < 160; i++) a[i] = (i * 13) % 17;
    depths(100);
    collect(100);
    for (int i = 0; i < 100; i += 7) printf("%d %g\n", out[i], d[i]);
    return 0;
}
