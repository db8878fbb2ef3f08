// device: triad copy
#include <stdio.h>
#ifndef STREAM_ARRAY_SIZE
#define STREAM_ARRAY_SIZE 1000
#endif
#define STREAM_TYPE double
static STREAM_TYPE a[STREAM_ARRAY_SIZE], b[STREAM_ARRAY_SIZE], c[STREAM_ARRAY_SIZE];
void copy(void)
{
    ssize_t j;
#pragma omp parallel for
    for (j = 0; j < STREAM_ARRAY_SIZE; j++)
        c[j] = a[j];
}
void triad(STREAM_TYPE scalar)
{
    ssize_t j;
#pragma omp parallel for
    for (j = 0; j < STREAM_ARRAY_SIZE; j++)
        a[j] = b[j] + scalar * c[j];
}
int main(void)
{
    for (int j = 0; j < STREAM_ARRAY_SIZE; j++) { a[j] = 1; b[j] = 2; }
    for (int k = 0; k < 3; k++) { copy(); triad(3.0); }
    printf("%g %g\n", a[0], c[999]);
    return 0;
}
