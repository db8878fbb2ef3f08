// device: dgemm
#include <stdio.h>
#define N 20
double A[N][N], B[N][N], C[N][N];
void dgemm(double alpha, double beta)
{
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++)
            C[i][j] *= beta;
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++)
                C[i][j] += alpha * A[i][k] * B[k][j];
    }
}
int main(void)
{
    for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) { A[i][j] = i + j; B[i][j] = i - j; C[i][j] = 1; }
    dgemm(0.5, 2.0);
    printf("%g %g %g\n", C[0][0], C[3][7], C[N - 1][N - 1]);
    return 0;
}
