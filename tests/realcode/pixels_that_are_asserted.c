// device: shifted doubled smooth
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct { int w, h, c; float *data; } image;

static float get_pixel(const image *m, int x, int y, int c)
{
    assert(x < m->w && y < m->h && c < m->c);
    return m->data[c * m->h * m->w + y * m->w + x];
}

static void set_pixel(image *m, int x, int y, int c, float value)
{
    assert(x < m->w && y < m->h && c < m->c);
    m->data[c * m->h * m->w + y * m->w + x] = value;
}

void shifted(const image *from, image *to)
{
    for (int k = 0; k < from->c; ++k)
        for (int y = 0; y < from->h; ++y)
            for (int x = 0; x < from->w; ++x)
                set_pixel(to, x, y, k, get_pixel(from, x, y, k) + 0.5f);
}

void doubled(int n, int last, const double *restrict a, double *restrict b)
{
    for (int i = 0; i < n; i++) {
        if (i > last) {
            fprintf(stderr, "%d is too far\n", i);
            exit(1);
        }
        b[i] = 2.0 * a[i];
    }
}

void smooth(int n, int step, const double *restrict a, double *restrict b)
{
    for (int t = 0; t < 3; t++)
        for (int i = 1; i < n - 1; i++) {
            assert(i + step * 0 > 0);
            assert(step + t >= 0);
            b[i] = a[i - 1] + a[i + 1] + t;
        }
}

int main(int argc, char **argv)
{
    static float p[2 * 5 * 7], q[2 * 5 * 7];
    static double a[30], b[30];
    image from = {7, 5, 2, p}, to = {7, 5, 2, q};
    for (int i = 0; i < 70; i++)
        p[i] = i * 0.5f;
    for (int i = 0; i < 30; i++)
        a[i] = i * i * 0.25;
    shifted(&from, &to);
    doubled(30, 29, a, b);
    for (int i = 0; i < 30; i += 4)
        printf("%g %g\n", q[2 * i], b[i]);
    smooth(30, 0, a, b);
    for (int i = 0; i < 30; i += 4)
        printf("%g\n", b[i]);
    if (argc > 1) {
        fflush(stdout);
        doubled(30, atoi(argv[1]), b, a); /* may end the program */
        smooth(30, -3, a, b);
    }
    return 0;
}
