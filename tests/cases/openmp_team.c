// flags: --device 8800gtx --assume-no-alias
// A whole parallel construct: its shared loops and what one thread does become kernels of one region.
void smooth(int n, float (*a)[n], float *b, float t)
{
#pragma omp parallel private(t)
    {
#pragma omp for collapse(2) schedule(static)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                t = a[i][j] * 2;
                a[i][j] = t * t;
            }
#pragma omp single
        b[0] = 0;
#pragma omp for nowait
        for (int i = 1; i < n; i++)
            b[i] = a[i][0];
    }
}
