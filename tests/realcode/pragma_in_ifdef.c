// device: activate adjust smooth
#include <stdio.h>
#include <math.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#define THREADS
#define N 60
#define M 40

static float in[N + 1], out[M + 1], w[N + 1][M + 1], old[N + 1][M + 1], delta[M + 1];
static int threads;

static void set_threads(int n)
{
    threads = n;
}

static float squash(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

static void activate(int n, int m)
{
    float sum;
    int j, k;
    in[0] = 1.0f;
#ifdef THREADS
    set_threads(4);
    #pragma omp parallel for shared(in, w) private(k, j) reduction(+: sum) schedule(static)
#endif
    /*** for each unit in the second layer ***/
    for (j = 1; j <= m; j++) {
        sum = 0.0f;
        for (k = 0; k <= n; k++)
            sum += w[k][j] * in[k];
        out[j] = squash(sum);
    }
}

static void adjust(int n, int m)
{
    float change;
    int j, k;
#ifdef THREADS
    set_threads(threads + 1);
    #pragma omp parallel for \
        shared(w, old, delta) \
        private(j, k, change) \
        firstprivate(n, m)
#endif

    for (j = 1; j <= m; j++) {
        for (k = 0; k <= n; k++) {
            change = 0.3f * delta[j] * in[k] + 0.3f * old[k][j];
            w[k][j] += change;
            old[k][j] = change;
        }
    }
}

static void smooth(int m)
{
#if defined(_OPENMP)
    omp_set_num_threads(2);
    #pragma omp parallel for
#endif
    // hidden where polygpu reads it, and not where the host file is compiled
    for (int j = 1; j < m; j++)
        delta[j] = 0.5f * (out[j] + out[j + 1]);
}

int main(void)
{
    for (int i = 0; i <= N; i++) {
        in[i] = (float)(i % 7) / 8;
        for (int j = 0; j <= M; j++)
            w[i][j] = (float)((i * j) % 5) / 64;
    }
    for (int t = 0; t < 3; t++) {
        activate(N, M);
        smooth(M);
        adjust(N, M);
    }
    for (int j = 1; j <= M; j++)
        printf("%.9g %.9g %.9g\n", out[j], delta[j], w[j][j]);
    printf("%d\n", threads);
    return 0;
}
