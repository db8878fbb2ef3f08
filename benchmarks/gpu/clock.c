/* Milliseconds from the first launch of a program to the end of its last kernel, and how many launches there were.
 *
 * Linked with --wrap of the functions below, so that neither the program nor what polygpu generates is changed.
 * The clock starts at a launch when nothing runs, and stops at the next copy: copies between kernels are counted
 * neither as launches nor in the time.
 */
#define _POSIX_C_SOURCE 199309L
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct { unsigned x, y, z; } extents;

int cudaDeviceSynchronize(void);

static double total, since;
static long launches;
static int running;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * t.tv_sec + 1e-6 * t.tv_nsec;
}

static void stop(void)
{
    if (!running)
        return;
    cudaDeviceSynchronize();
    total += now() - since;
    running = 0;
}

static void report(void)
{
    stop();
    fprintf(stderr, "clock: %.6f ms %ld launches\n", total, launches);
}

static void launched(void)
{
    static int begun;
    if (!begun)
        atexit(report);
    begun = 1;
    if (!running) {
        cudaDeviceSynchronize();
        since = now();
        running = 1;
    }
    launches++;
}

#define LAUNCH(name) \
    int __real_##name(const void *, extents, extents, void **, size_t, void *); \
    int __wrap_##name(const void *f, extents grid, extents block, void **arguments, size_t shared, void *stream) \
    { \
        launched(); \
        return __real_##name(f, grid, block, arguments, shared, stream); \
    }

LAUNCH(__cudaLaunchKernel)
LAUNCH(cudaLaunchKernel)
LAUNCH(cudaLaunchCooperativeKernel)

int __real_cudaMemcpy(void *, const void *, size_t, int);
int __wrap_cudaMemcpy(void *to, const void *from, size_t size, int kind)
{
    stop();
    return __real_cudaMemcpy(to, from, size, kind);
}

int __real_cudaMemcpyAsync(void *, const void *, size_t, int, void *);
int __wrap_cudaMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream)
{
    stop();
    return __real_cudaMemcpyAsync(to, from, size, kind, stream);
}

int __real_cudaMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, int);
int __wrap_cudaMemcpy2D(void *to, size_t a, const void *from, size_t b, size_t width, size_t height, int kind)
{
    stop();
    return __real_cudaMemcpy2D(to, a, from, b, width, height, kind);
}

int __real_cudaMemcpy2DAsync(void *, size_t, const void *, size_t, size_t, size_t, int, void *);
int __wrap_cudaMemcpy2DAsync(void *to, size_t a, const void *from, size_t b, size_t width, size_t height, int kind,
                             void *stream)
{
    stop();
    return __real_cudaMemcpy2DAsync(to, a, from, b, width, height, kind, stream);
}
