// device: generation
#include <stdio.h>
#define N 40
static int wrap(int i) { return (i + N) % N; }
void generation(char now[N][N], char next[N][N])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            int alive = 0;
            for (int di = -1; di <= 1; di++)
                for (int dj = -1; dj <= 1; dj++)
                    if (di != 0 || dj != 0)
                        alive += now[wrap(i + di)][wrap(j + dj)];
            next[i][j] = alive == 3 || (alive == 2 && now[i][j]);
        }
}
int main(void)
{
    static char a[N][N], b[N][N];
    int count = 0;
    for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) a[i][j] = (i * 7 + j * 3) % 5 == 0;
    generation(a, b);
    generation(b, a);
    for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) count += a[i][j];
    printf("%d\n", count);
    return 0;
}
