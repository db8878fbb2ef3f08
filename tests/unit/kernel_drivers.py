"""C programs that call the device function of a hand-written kernel and compare with a plain loop.

Each prints nothing and returns 0 when every element of every size has the same bits.
"""

from __future__ import annotations

from collections.abc import Callable

from polygpu.model.kernel import Unit
from tests.unit import kernel_programs

HEAD = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int sizes[] = {SIZES};

static void *filled(size_t count, int seed)
{
    float *values = malloc((count + 1) * sizeof *values);
    for (size_t i = 0; i <= count; ++i)
        values[i] = (float)((i * 37 + (size_t)seed) % 101) / 16 - 3;
    return values;
}

static void compare(int n, const void *result, const void *expected, size_t bytes)
{
    if (memcmp(result, expected, bytes) == 0)
        return;
    printf("n = %d: results differ\\n", n);
    exit(1);
}

"""
TAIL = """
int main(void)
{
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; ++k)
        check(sizes[k]);
    return 0;
}
"""

SAXPY = """\
void polygpu_f_0(int n, float alpha, const float *x, float *y);

static void check(int n)
{
    float *x = filled(n, 1), *y = filled(n, 2), *z = filled(n, 2);
    for (int i = 0; i < n; i++) {
        volatile float scaled = 0.75f * x[i];
        z[i] += scaled;
    }
    polygpu_f_0(n, 0.75f, x, y);
    compare(n, y, z, (n + 1) * sizeof *y);
    free(x), free(y), free(z);
}
"""

PRODUCT = """\
void polygpu_f_0(int n, const float *A, const float *B, float *C);

static void check(int n)
{
    float *A = filled(n * n, 1), *B = filled(n * n, 2), *C = filled(n * n, 3), *D = filled(n * n, 3);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int k = 0; k < n; k++) {
                volatile float factor = A[i * n + k] * B[k * n + j];
                sum += factor;
            }
            D[i * n + j] = sum;
        }
    polygpu_f_0(n, A, B, C);
    compare(n, C, D, (n * n + 1) * sizeof *C);
    free(A), free(B), free(C), free(D);
}
"""

ROWS = """\
void polygpu_f_0(int n, const TYPE *x, TYPE *y);

static void check(int n)
{
    TYPE *x = filled(n * 8, 1), *y = filled(n * 8, 2), *z = filled(n * 8, 2);
    for (int i = 0; i < 4 * n; i++)
        z[i] = (TYPE)(2 * (x[i] = (TYPE)(i % 100)));
    polygpu_f_0(n, x, y);
    compare(n, y, z, 4 * n * sizeof *y);
    free(x), free(y), free(z);
}
"""

BOXES = """\
void polygpu_f_0(int n, float one, float *A);

static void check(int n)
{
    float *A = filled(n * n * n, 1), *B = filled(n * n * n, 1);
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            for (int k = 1; k < n - 1; k++)
                for (int step = 0; step < 2; step++)
                    B[(i * n + j) * n + k] += 1;
    polygpu_f_0(n, 1, A);
    compare(n, A, B, (n * n * n + 1) * sizeof *A);
    free(A), free(B);
}
"""

FUNCTION = """\
#include <math.h>

void polygpu_f_0(int n, const float *x, float *y);

static float step(float x, int newer)
{
    float local = sqrtf(x) + fmaxf(x, 0.5f);
    return newer > 2 ? (float)sqrt(x) : local;
}

static void check(int n)
{
    float *x = filled(n, 1), *y = filled(n, 2), *z = filled(n, 2);
    for (int i = 0; i < n; i++) {
        x[i] += 4;
        z[i] = step(x[i], i % 2 < 1 ? 1 : 3) + sqrtf((float)i);
    }
    polygpu_f_0(n, x, y);
    compare(n, y, z, (n + 1) * sizeof *y);
    free(x), free(y), free(z);
}
"""

# Stands between a program and OpenCL (ld --wrap): counts objects, and fails launch number FAILING.
COUNTING = """
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

static int held, launches;
__attribute__((destructor)) static void report(void) { printf("%d held\\n", held); } /* after atexit's */
#define CREATED(call) void *object = call; held += object != NULL; return object
#define RELEASED(call) --held; return call

cl_mem __real_clCreateBuffer(cl_context, cl_mem_flags, size_t, void *, cl_int *);
cl_mem __wrap_clCreateBuffer(cl_context c, cl_mem_flags f, size_t n, void *p, cl_int *s)
{
    CREATED(__real_clCreateBuffer(c, f, n, p, s));
}
cl_kernel __real_clCreateKernel(cl_program, const char *, cl_int *);
cl_kernel __wrap_clCreateKernel(cl_program p, const char *n, cl_int *s)
{
    CREATED(__real_clCreateKernel(p, n, s));
}
cl_program __real_clCreateProgramWithSource(cl_context, cl_uint, const char **, const size_t *, cl_int *);
cl_program __wrap_clCreateProgramWithSource(cl_context c, cl_uint n, const char **t, const size_t *l,
                                            cl_int *s)
{
    CREATED(__real_clCreateProgramWithSource(c, n, t, l, s));
}
cl_command_queue __real_clCreateCommandQueue(cl_context, cl_device_id, cl_command_queue_properties, cl_int *);
cl_command_queue __wrap_clCreateCommandQueue(cl_context c, cl_device_id d, cl_command_queue_properties p,
                                             cl_int *s)
{
    CREATED(__real_clCreateCommandQueue(c, d, p, s));
}
cl_int __real_clReleaseMemObject(cl_mem);
cl_int __wrap_clReleaseMemObject(cl_mem m) { RELEASED(__real_clReleaseMemObject(m)); }
cl_int __real_clReleaseKernel(cl_kernel);
cl_int __wrap_clReleaseKernel(cl_kernel k) { RELEASED(__real_clReleaseKernel(k)); }
cl_int __real_clReleaseProgram(cl_program);
cl_int __wrap_clReleaseProgram(cl_program p) { RELEASED(__real_clReleaseProgram(p)); }
cl_int __real_clReleaseCommandQueue(cl_command_queue);
cl_int __wrap_clReleaseCommandQueue(cl_command_queue q) { RELEASED(__real_clReleaseCommandQueue(q)); }
cl_int __real_clEnqueueNDRangeKernel(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,
                                     const size_t *, cl_uint, const cl_event *, cl_event *);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint d, const size_t *o,
                                     const size_t *g, const size_t *l, cl_uint n, const cl_event *w,
                                     cl_event *e)
{
    if (launches++ == FAILING)
        return CL_OUT_OF_RESOURCES;
    return __real_clEnqueueNDRangeKernel(q, k, d, o, g, l, n, w, e);
}
"""

LINE, SQUARE = "0, 1, 2, 31, 32, 33, 1000", "0, 1, 2, 15, 16, 17, 33, 50"

PROGRAMS: dict[str, tuple[Callable[[], Unit], str, str]] = {
    "saxpy": (kernel_programs.saxpy, SAXPY, LINE),
    "product": (kernel_programs.product, PRODUCT, SQUARE),
    "wide_moves": (lambda: kernel_programs.product(4), PRODUCT, SQUARE),
    "asynchronous_moves": (lambda: kernel_programs.product(4, asynchronous=True), PRODUCT, SQUARE),
    "private_float": (kernel_programs.private_rows, ROWS.replace("TYPE", "float"), LINE),
    "private_double": (lambda: kernel_programs.private_rows("double"), ROWS.replace("TYPE", "double"), LINE),
    "private_char": (lambda: kernel_programs.private_rows("char"), ROWS.replace("TYPE", "char"), LINE),
    "boxes": (kernel_programs.boxes, BOXES, "0, 1, 2, 3, 5, 40"),
    "function": (kernel_programs.with_function, FUNCTION, LINE),
}


def driver(name: str) -> str:
    """The C program for one of PROGRAMS."""
    _, check, sizes = PROGRAMS[name]
    return HEAD.replace("SIZES", sizes) + check + TAIL
