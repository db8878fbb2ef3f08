// device: jacobi
#include <stdio.h>
#define N 26
float A[N][N], B[N][N];
void jacobi(int steps)
{
    for (int t = 0; t < steps; t++) {
#pragma acc kernels
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                B[i][j] = 0.25f * (A[i][j - 1] + A[i][j + 1] + A[i - 1][j] + A[i + 1][j]);
#pragma acc parallel loop
        for (int i = 1; i < N - 1; i++)
#pragma acc loop independent
            for (int j = 1; j < N - 1; j++)
                A[i][j] = B[i][j];
    }
}
int main(void)
{
    for (int i = 0; i < N; i++) A[0][i] = B[0][i] = 1;
    jacobi(6);
    for (int i = 0; i < N; i += 3) printf("%g\n", A[i][i]);
    return 0;
}
