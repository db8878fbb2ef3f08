// device: stage
#include <stdio.h>
typedef struct { double re, im; } cplx;
#define cplx_of(a, b) (cplx){a, b}
#define cplx_sub(a, b) (cplx){(a).re - (b).re, (a).im - (b).im}
#define cplx_mul(a, b) (cplx){(a).re * (b).re - (a).im * (b).im, (a).re * (b).im + (a).im * (b).re}
/* one stage of a transform that leaves its results in another array */
void stage(int n, int m, const cplx in[2 * n][m], cplx out[2 * n][m], const cplx *turn)
{
    cplx w, top, low;
    for (int i = 0; i < n; i++) {
        w = cplx_of(turn[i].re, -turn[i].im);
        for (int j = 0; j < m; j++) {
            top = in[i][j];
            low = in[n + i][j];
            out[2 * i][j] = (cplx){top.re + low.re, top.im + low.im};
            out[2 * i + 1][j] = cplx_mul(w, cplx_sub(top, low));
        }
    }
}
int main(void)
{
    enum { N = 12, M = 7 };
    static cplx a[2 * N][M], b[2 * N][M], turn[N];
    for (int i = 0; i < 2 * N; i++)
        for (int j = 0; j < M; j++) a[i][j] = cplx_of(i * 0.25 - j, j % 3 + 0.5 * i);
    for (int i = 0; i < N; i++) turn[i] = cplx_of(1.0 / (i + 1), 0.125 * i);
    stage(N, M, a, b, turn);
    for (int i = 0; i < 2 * N; i++)
        for (int j = 0; j < M; j++) printf("%.17g %.17g\n", b[i][j].re, b[i][j].im);
    return 0;
}
