// device: viterbi
#include <stdio.h>
#define S 20
void viterbi(int steps, const double *emit, double trans[S][S], double score[2][S])
{
    for (int t = 1; t < steps; t++)
        for (int j = 0; j < S; j++) {
            double best = -1e300;
            for (int i = 0; i < S; i++) {
                double v = score[(t - 1) % 2][i] + trans[i][j];
                if (v > best) best = v;
            }
            score[t % 2][j] = best + emit[t * S + j];
        }
}
int main(void)
{
    static double emit[10 * S], trans[S][S], score[2][S];
    for (int i = 0; i < 10 * S; i++) emit[i] = -(i % 7);
    for (int i = 0; i < S; i++) for (int j = 0; j < S; j++) trans[i][j] = -((i * 3 + j * 5) % 11);
    viterbi(10, emit, trans, score);
    for (int i = 0; i < S; i++) printf("%g ", score[1][i]);
    printf("\n");
    return 0;
}
