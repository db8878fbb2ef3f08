// device: lookup
#include <stdio.h>
#define VOCAB 50
#define DIM 16
void lookup(int n, const int token[n], float table[VOCAB][DIM], float out[n][DIM])
{
    for (int i = 0; i < n; i++)
        for (int d = 0; d < DIM; d++)
            out[i][d] = table[token[i]][d];
}
int main(void)
{
    int token[40];
    static float table[VOCAB][DIM], out[40][DIM];
    for (int i = 0; i < 40; i++) token[i] = (i * 13) % VOCAB;
    for (int i = 0; i < VOCAB; i++) for (int d = 0; d < DIM; d++) table[i][d] = i + d * 0.01f;
    lookup(40, token, table, out);
    for (int i = 0; i < 40; i += 3) printf("%g\n", out[i][i % DIM]);
    return 0;
}
