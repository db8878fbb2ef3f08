// flags: -O 2 --target emulator --device 8800gtx
// certificate
// what an inner loop reads of A[i % (m + 1)] was kept in a register, of which the certificate knows nothing
#include <stdio.h>

static void f(long n, long m, long A[n + m + 2][2 * n + 7], float B[restrict n + 1][n + 1])
{
#pragma scop
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n - i; j++)
            if ((A[i / 3 % 2][j + 2] & 1023) > (A[i % (m + 1)][i] & 1023))
                if (!((A[i][3] & 1023) < (A[j + 2][j] & 1023)))
                    if ((A[j % (m + 1)][2 * j] & 1023) > (A[j + 2][j] & 1023))
                        B[i][i] *= 0.5f;
#pragma endscop
}

int main(void)
{
    enum { N = 40, M = 7 };
    static long A[N + M + 2][2 * N + 7];
    static float B[N + 1][N + 1];
    for (int t = 0; t < (N + M + 2) * (2 * N + 7); t++)
        A[t / (2 * N + 7)][t % (2 * N + 7)] = t * 37L % 1009;
    for (int t = 0; t < (N + 1) * (N + 1); t++)
        B[t / (N + 1)][t % (N + 1)] = t % 17;
    f(N, M, A, B);
    for (int i = 0; i <= N; i++)
        printf("%a\n", B[i][i]);
    return 0;
}
