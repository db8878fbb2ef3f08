// device: conv
#include <stdio.h>
enum { CIN = 3, COUT = 4, S = 14, K = 3 };
float image[CIN][S][S], filter[COUT][CIN][K][K], result[COUT][S - K + 1][S - K + 1];
void conv(void)
{
    for (int o = 0; o < COUT; o++)
        for (int y = 0; y <= S - K; y++)
            for (int x = 0; x <= S - K; x++) {
                float acc = 0;
                for (int c = 0; c < CIN; c++)
                    for (int ky = 0; ky < K; ky++)
                        for (int kx = 0; kx < K; kx++)
                            acc += image[c][y + ky][x + kx] * filter[o][c][ky][kx];
                result[o][y][x] = acc;
            }
}
int main(void)
{
    for (int c = 0; c < CIN; c++) for (int i = 0; i < S; i++) for (int j = 0; j < S; j++) image[c][i][j] = (c + i * j) % 6;
    for (int i = 0; i < COUT * CIN * K * K; i++) ((float *)filter)[i] = i % 5 - 2;
    conv();
    for (int o = 0; o < COUT; o++) printf("%g %g\n", result[o][0][0], result[o][11][7]);
    return 0;
}
