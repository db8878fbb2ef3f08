// device: lengths
#include <stdio.h>
void lengths(int n, int *len)
{
    for (int i = 1; i <= n; i++) {
        long v = i;
        int steps = 0;
        while (v != 1) {
            v = v % 2 ? 3 * v + 1 : v / 2;
            steps++;
        }
        len[i - 1] = steps;
    }
}
int main(void)
{
    int len[150], most = 0;
    lengths(150, len);
    for (int i = 0; i < 150; i++) if (len[i] > len[most]) most = i;
    printf("%d %d\n", most + 1, len[most]);
    return 0;
}
