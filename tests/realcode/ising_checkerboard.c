// device: sweep
#include <stdio.h>
#define L 32
signed char spin[L][L];
void sweep(int colour, const unsigned char coin[L][L])
{
    for (int i = 1; i < L - 1; i++)
        for (int j = 1; j < L - 1; j++) {
            if ((i + j) % 2 != colour)
                continue;
            int e = spin[i][j] * (spin[i - 1][j] + spin[i + 1][j] + spin[i][j - 1] + spin[i][j + 1]);
            if (e <= 0 || coin[i][j] < 20)
                spin[i][j] = -spin[i][j];
        }
}
int main(void)
{
    static unsigned char coin[L][L];
    int m = 0;
    for (int i = 0; i < L; i++) for (int j = 0; j < L; j++) { spin[i][j] = (i * 5 + j * 3) % 4 ? 1 : -1; coin[i][j] = (i * 37 + j * 101) % 256; }
    for (int s = 0; s < 3; s++) { sweep(0, coin); sweep(1, coin); }
    for (int i = 0; i < L; i++) for (int j = 0; j < L; j++) m += spin[i][j];
    printf("%d\n", m);
    return 0;
}
