// device: mat_mul mat_transpose
#include <stdio.h>
#include <stdlib.h>

typedef struct matrix {
    size_t rows;
    size_t cols;
    double **d;
} matrix_t;

matrix_t *mat_new(size_t r, size_t c)
{
    matrix_t *m = malloc(sizeof(matrix_t));
    m->rows = r;
    m->cols = c;
    m->d = malloc(sizeof(double *) * r);
    for (size_t i = 0; i < r; ++i)
        m->d[i] = calloc(c, sizeof(double));
    return m;
}

void mat_free(matrix_t *m)
{
    for (size_t i = 0; i < m->rows; ++i)
        free(m->d[i]);
    free(m->d);
    free(m);
}

void mat_mul(const matrix_t *a, const matrix_t *b, matrix_t *c)
{
    for (size_t i = 0; i < a->rows; ++i)
        for (size_t j = 0; j < b->cols; ++j) {
            double sum = 0;
            for (size_t k = 0; k < a->cols; ++k)
                sum += a->d[i][k] * b->d[k][j];
            c->d[i][j] = sum;
        }
}

void mat_transpose(const matrix_t *a, matrix_t *t)
{
    for (size_t i = 0; i < a->rows; ++i)
        for (size_t j = 0; j < a->cols; ++j)
            t->d[j][i] = a->d[i][j];
}

int main(void)
{
    matrix_t *a = mat_new(8, 11), *b = mat_new(11, 7), *c = mat_new(8, 7), *t = mat_new(7, 8);
    for (size_t i = 0; i < 8; ++i)
        for (size_t j = 0; j < 11; ++j)
            a->d[i][j] = (double)i - (double)j / 2;
    for (size_t i = 0; i < 11; ++i)
        for (size_t j = 0; j < 7; ++j)
            b->d[i][j] = (double)(i * j % 5);
    mat_mul(a, b, c);
    mat_transpose(c, t);
    double tr = 0;
    for (size_t i = 0; i < 7; ++i)
        tr += t->d[i][i] * (double)(i + 1);
    printf("%.3f %.3f\n", tr, t->d[6][7]);
    mat_free(a); mat_free(b); mat_free(c); mat_free(t);
    return 0;
}
